// Returns what a user of a screen reader or with weak eyes could not use: elements without a name, and texts with too little contrast.
(() => {
  const problems = [];
  const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const where = (e) => `${e.tagName.toLowerCase()}${e.id ? `#${e.id}` : ''}${e.className && typeof e.className === 'string' ? `.${e.className.trim().replace(/\s+/g, '.')}` : ''} "${(e.textContent || '').trim().slice(0, 40)}"`;
  const named = (e) => (e.getAttribute('aria-label') || e.textContent || e.getAttribute('title') || '').trim() !== ''
    || (e.labels && [...e.labels].some((label) => label.textContent.trim()));
  const labeled = (e) => (e.getAttribute('aria-label') || '').trim() !== '' || (e.labels && [...e.labels].some((label) => label.textContent.trim()));
  const scope = document.querySelector('dialog[open]') ?? document.body;
  for (const e of scope.querySelectorAll('button, a[href], summary')) if (visible(e) && !named(e)) problems.push(`no name: ${where(e)}`);
  for (const e of scope.querySelectorAll('input, select, textarea, canvas:not([aria-hidden]), progress, [role=img], [role=region], section, dialog, [role=toolbar], [role=group]')) {
    if (visible(e) && !labeled(e)) problems.push(`no label: ${where(e)}`);
  }
  for (const e of document.querySelectorAll('[tabindex]')) if (Number(e.getAttribute('tabindex')) > 0) problems.push(`tabindex above 0: ${where(e)}`);
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => problems.push(`id twice: ${id}`));
  if (!document.documentElement.lang) problems.push('no lang');
  if (document.querySelectorAll('main').length !== 1 || document.querySelectorAll('h1').length !== 1) problems.push('not one main and one h1');
  if (document.documentElement.scrollWidth > innerWidth + 1) problems.push(`the page is ${document.documentElement.scrollWidth}px wide in a window of ${innerWidth}px`);

  const rgb = (text) => { const m = text.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m[3] ?? 1]; };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const light = (c) => { const [r, g, b] = c.map((v) => { const s = v / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const back = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const walker = document.createTreeWalker(scope, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.textContent.trim() || seen.has(e) || !visible(e) || e.closest(':disabled, noscript, option, .hidden, .skip')) continue;
    seen.add(e);
    const style = getComputedStyle(e);
    const behind = back(e);
    const [a, b] = [light(over(rgb(style.color), behind)), light(behind)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700;
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${where(e)} ${style.color} on rgb(${behind.map(Math.round)})`);
  }
  return problems;
})()
