package report

// page is the template of the report. The policy in its head forbids scripts and all resources, as a second protection if a text were not
// escaped.
const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{text .Fleet.Namespace}}/{{text .Fleet.Name}}: rollout report</title>
<style>
:root { --text: #1c2024; --back: #ffffff; --soft: #5c6570; --line: #d5dae0; --bad: #b3261e; --good: #1a7f37; --fill: #eef1f4; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7eb; --back: #14171a; --soft: #9aa4af; --line: #353c44; --bad: #ff8a80; --good: #6fdd8b; --fill: #20252a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; }
th, td { border-bottom: 1px solid var(--line); }
th { white-space: nowrap; }
.text { min-width: 9rem; overflow-wrap: anywhere; }
time, .soft { color: var(--soft); }
.bad, .removed { color: var(--bad); }
.good, .added { color: var(--good); }
.place { color: var(--soft); }
.short { width: 1%; white-space: nowrap; }
.group { padding-left: 1.5rem; color: var(--soft); }
.wide { overflow-x: auto; }
progress { appearance: none; width: 12rem; max-width: 25vw; height: .8rem; vertical-align: middle; border: 1px solid var(--line); }
progress, progress::-webkit-progress-bar { background: var(--fill); }
progress::-webkit-progress-value { background: var(--good); }
progress::-moz-progress-bar { background: var(--good); }
pre { background: var(--fill); padding: 1rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print {
  :root { --text: #000; --back: #fff; --soft: #444; --line: #999; --bad: #900; --good: #060; --fill: #fff; }
  .wide { overflow: visible; }
  body { margin: 0; max-width: none; font-size: 11px; }
  tr, h2 { break-inside: avoid; break-after: auto; }
  h2 { break-after: avoid; }
}
</style>
</head>
<body>
<h1>{{text .Fleet.Namespace}}/{{text .Fleet.Name}}</h1>
<p class="soft">Report of {{time .Now}}</p>

<h2 id="summary">Summary</h2>
<p><strong>{{printf "%s" .Fleet.State | text}}</strong> since {{time .Fleet.Since}}: {{text .Fleet.Summary}}</p>
{{range .Fleet.Alarms}}<p class="bad">{{text .Text}}; remedy: {{text .Remedy}}</p>
{{end}}{{with .Fleet.Why}}<p>{{text .}}</p>
{{end}}{{with .Fleet.Then}}<p>What comes next, if no cluster reports anything new:</p>
<ul>{{range .}}<li>{{if .At.IsZero}}now{{else}}{{time .At}}{{end}}: {{text .Text}}</li>
{{end}}</ul>
{{end}}{{range .Fleet.Notes}}<p class="bad">{{text .}}</p>
{{end}}{{if .Fleet.Bars}}<div class="wide"><table>
<tr><th>Placement</th><th>Progress</th><th></th><th>Strategy</th></tr>
{{range .Fleet.Bars}}<tr>{{if .Group}}<td class="group">{{text .Group}}</td>{{else}}<td>{{text .Placement}}</td>{{end}}
<td class="short">{{.Done}}/{{.Total}}</td>
<td class="short"><progress max="100" value="{{percent .Done .Total}}">{{percent .Done .Total}}%</progress></td>
<td class="text">{{text .Strategy}}</td></tr>
{{end}}</table></div>
{{end}}
<h2 id="timeline">Timeline</h2>
<div class="wide"><table>
{{range .Events}}<tr{{if .Bad}} class="bad"{{end}}><td class="short"><time>{{time .At}}</time></td><td class="text">{{text .Text}}</td></tr>
{{else}}<tr><td>The objects record no events.</td></tr>
{{end}}</table></div>

<h2 id="exposure">Exposure</h2>
{{with .Fleet.Reached}}<p>{{reached .}}.</p>
{{else}}<p>The rollout was not aborted.</p>
{{end}}
<h2 id="causes">Causes</h2>
{{if .Fleet.Causes}}<div class="wide"><table>
<tr><th>Clusters</th><th>Reason</th><th>Message</th><th>Names</th></tr>
{{range .Fleet.Causes}}<tr><td>{{len .Clusters}}</td><td>{{printf "%s" .Reason | text}}</td><td class="text">{{text .Message}}</td>
<td class="text">{{list .Clusters | text}}</td></tr>
{{end}}</table></div>
{{else}}<p>The status lists no failures and no rejections.</p>
{{end}}
<h2 id="clusters">Clusters</h2>
<div class="wide"><table>
<tr><th>Cluster</th><th>Placement</th><th>State</th><th>Since</th><th>Revision</th><th>Confirmed</th><th>Message</th></tr>
{{range .Clusters}}<tr><td>{{text .Name}}</td><td>{{text .Placement}}</td>
<td{{with class .State}} class="{{.}}"{{end}}>{{printf "%s" .State | text}}</td>
<td class="short">{{time .Since}}</td>
<td>{{text .Wrote}}</td><td>{{if .Confirmed}}yes{{else}}no{{end}}</td><td class="text">{{text .Message}}</td></tr>
{{end}}</table></div>

<h2 id="revisions">Revisions</h2>
<div class="wide"><table>
<tr><th>Revision</th><th>Hash</th><th>State</th><th>Now</th><th>Reached</th><th>Started</th><th>Ended</th><th>Change cause</th><th>By</th>
<th>Abort reason</th></tr>
{{range .Fleet.Revisions}}<tr><td class="short">{{.Number}}{{if .Update}} update{{end}}{{if .Current}} current{{end}}</td>
<td>{{text .Hash}}</td>
<td>{{printf "%s" .State | text}}</td><td>{{.Now}}</td><td>{{if .Reached}}{{.Reached}}{{else}}–{{end}}</td><td>{{time .Started}}</td>
<td>{{time .Ended}}</td><td class="text">{{text .ChangeCause}}</td>
<td>{{text .CreatedBy}}</td><td class="text">{{text .AbortReason}}{{text .WouldAbort}}</td></tr>
{{end}}</table></div>

<h2 id="diff">Difference</h2>
{{if .NoDiff}}<p>{{text .NoDiff}}</p>
{{else}}<p>From the current revision to the update revision. The values of Secrets are masked.</p>
<pre>{{range .Lines}}<span{{with .Class}} class="{{.}}"{{end}}>{{text .Text}}</span>
{{end}}</pre>
{{end}}
</body>
</html>
`
