package report

// page is the template of the report. The policy in its head forbids scripts and all resources, even if a text were not escaped.
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
th, td { border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
time, .soft { color: var(--soft); }
.bad, .removed { color: var(--bad); }
.added { color: var(--good); }
.place { color: var(--soft); }
.bar { background: var(--fill); border: 1px solid var(--line); }
pre { background: var(--fill); padding: 1rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print {
  :root { --text: #000; --back: #fff; --soft: #444; --line: #999; --bad: #900; --good: #060; --fill: #fff; }
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
{{with .Fleet.Why}}<p>{{text .}}</p>
{{end}}{{range .Fleet.Notes}}<p class="bad">{{text .}}</p>
{{end}}{{if .Fleet.Bars}}<table>
<tr><th>Placement</th><th>Progress</th><th></th><th>Strategy</th></tr>
{{range .Fleet.Bars}}<tr><td>{{text .Placement}}</td><td>{{.Done}}/{{.Total}}</td>
<td><progress class="bar" max="100" value="{{percent .Done .Total}}">{{percent .Done .Total}}%</progress></td>
<td>{{text .Strategy}}</td></tr>
{{end}}</table>
{{end}}
<h2 id="timeline">Timeline</h2>
<table>
{{range .Events}}<tr{{if .Bad}} class="bad"{{end}}><td><time>{{time .At}}</time></td><td>{{text .Text}}</td></tr>
{{else}}<tr><td>The objects record no events.</td></tr>
{{end}}</table>

<h2 id="exposure">Exposure</h2>
{{with .Exposure}}<p>{{if .Reached}}At most {{.Reached}} of {{.Total}} clusters had revision {{.Revision}} at the same time.
{{else}}The number of clusters that had revision {{.Revision}} is not recorded.
{{end}}{{.Now}} have it now. Its rollout started at {{time .Since}}{{if .Until.IsZero}} and was not aborted{{else}} and was aborted at
{{time .Until}}, after {{took .Since .Until}}{{end}}.</p>
{{else}}<p>The current revision is the update revision.</p>
{{end}}
<h2 id="causes">Causes</h2>
{{if .Fleet.Causes}}<table>
<tr><th>Clusters</th><th>Reason</th><th>Message</th><th>Names</th></tr>
{{range .Fleet.Causes}}<tr><td>{{len .Clusters}}</td><td>{{printf "%s" .Reason | text}}</td><td>{{text .Message}}</td>
<td>{{list .Clusters | text}}</td></tr>
{{end}}</table>
{{else}}<p>The status lists no failures and no rejections.</p>
{{end}}
<h2 id="clusters">Clusters</h2>
<table>
<tr><th>Cluster</th><th>Placement</th><th>State</th><th>Since</th><th>Revision</th><th>Confirmed</th><th>Message</th></tr>
{{range .Clusters}}<tr><td>{{text .Name}}</td><td>{{text .Placement}}</td><td>{{printf "%s" .State | text}}</td><td>{{time .Since}}</td>
<td>{{text .Wrote}}</td><td>{{if .Confirmed}}yes{{else}}no{{end}}</td><td>{{text .Message}}</td></tr>
{{end}}</table>

<h2 id="revisions">Revisions</h2>
<table>
<tr><th>Revision</th><th>Hash</th><th>State</th><th>Now</th><th>Reached</th><th>Started</th><th>Ended</th><th>Change cause</th><th>By</th>
<th>Abort reason</th></tr>
{{range .Fleet.Revisions}}<tr><td>{{.Number}}{{if .Update}} update{{end}}{{if .Current}} current{{end}}</td><td>{{text .Hash}}</td>
<td>{{printf "%s" .State | text}}</td><td>{{.Now}}</td><td>{{if .Reached}}{{.Reached}}{{else}}–{{end}}</td><td>{{time .Started}}</td>
<td>{{time .Ended}}</td><td>{{text .ChangeCause}}</td><td>{{text .CreatedBy}}</td><td>{{text .AbortReason}}</td></tr>
{{end}}</table>

<h2 id="diff">Difference</h2>
{{if .NoDiff}}<p>{{text .NoDiff}}</p>
{{else}}<p>From the current revision to the update revision. The values of Secrets are masked.</p>
<pre>{{range .Lines}}<span{{with .Class}} class="{{.}}"{{end}}>{{text .Text}}</span>
{{end}}</pre>
{{end}}
</body>
</html>
`
