// looks.mjs - what must hold for any page, at any width and in any colours; run inside the page.  Returns sentences about what is wrong.
export function looks() {
  const wrong = [];
  const say = (what, e) => wrong.push(what + ': ' + String(e).replace(/\s+/g, ' ').trim().slice(0, 140));
  const shown = e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const path = e => { let p = ''; for (; e && e !== document.body; e = e.parentElement) p = e.tagName.toLowerCase() + (e.id ? '#' + e.id : typeof e.className === 'string' && e.className ? '.' + e.className.split(' ')[0] : '') + ' ' + p; return p; };

  // Labels of a picture: none over another, none cut by the edge.
  for (const svg of document.querySelectorAll('svg')) {
    if (!shown(svg)) continue;
    const frame = svg.getBoundingClientRect(), name = svg.getAttribute('aria-label'), scale = frame.width / svg.viewBox.baseVal.width;
    const words = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim() && shown(t)).map(t => ({ t, r: t.getBoundingClientRect() })).filter(w => w.r.width > 0);
    for (const w of words)
      if (w.r.left < frame.left - 1 || w.r.right > frame.right + 1 || w.r.top < frame.top - 2 || w.r.bottom > frame.bottom + 2) say('a label is cut by the edge of "' + name + '"', w.t.textContent);
    words.sort((a, b) => a.r.top - b.r.top);
    for (let i = 0; i < words.length; i++)
      for (let k = i + 1; k < words.length && words[k].r.top < words[i].r.bottom; k++) {
        const a = words[i].r, b = words[k].r, x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 3.5 * scale) say('labels overlap in "' + name + '"', words[i].t.textContent + ' | ' + words[k].t.textContent);
      }
  }

  // Cells of a table: their words stay within them.
  const range = document.createRange();
  for (const cell of document.querySelectorAll('td, th')) {
    if (!shown(cell) || !cell.textContent.trim()) continue;
    range.selectNodeContents(cell);
    const r = range.getBoundingClientRect(), c = cell.getBoundingClientRect();
    if (r.left < c.left - 1 || r.right > c.right + 1 || r.top < c.top - 1 || r.bottom > c.bottom + 1) say('words leave their cell', cell.textContent);
  }

  // Words that are cut without a sign, and a page that is wider than its window.
  for (const e of document.querySelectorAll('body *')) {
    const s = getComputedStyle(e);
    if (e.closest('svg') || !/hidden|clip/.test(s.overflowX + s.overflowY) || !shown(e) || s.textOverflow === 'ellipsis') continue;
    if (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) say('words are cut', path(e) + e.textContent);
  }
  if (document.documentElement.scrollWidth > innerWidth) {
    const far = [...document.querySelectorAll('main *, .bar *')].filter(e => shown(e) && !e.closest('.scroll, .box') && e.getBoundingClientRect().right > innerWidth + 1)[0];
    say('the page is wider than its window', document.documentElement.scrollWidth + ' > ' + innerWidth + ' ' + (far ? path(far) : ''));
  }

  // Words beside each other: leaves of the first screen and of facts must not lie over one another.
  const leaves = [...document.querySelectorAll('main h1, main .set, main .say, main .big, main .aside span, main .trust summary, main .try code, main .try .what span, main .why, main .facts .l, main .facts .v, main .key > *, main .sec > summary h2')].filter(shown).map(e => { range.selectNodeContents(e); return { e, r: range.getBoundingClientRect() }; }).filter(l => l.r.width);
  leaves.sort((a, b) => a.r.top - b.r.top);
  for (let i = 0; i < leaves.length; i++)
    for (let k = i + 1; k < leaves.length && leaves[k].r.top < leaves[i].r.bottom; k++) {
      const a = leaves[i], b = leaves[k], x = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left), y = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
      if (x > 1 && y > 2 && !a.e.contains(b.e) && !b.e.contains(a.e)) say('words overlap', a.e.textContent + ' | ' + b.e.textContent);
    }
  return wrong;
}

// Contrast of all words that are shown against what is behind them: WCAG AA, 4.5 to 1, and 3 to 1 for big ones.
export function contrasts() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3]) layers.push(c); if (c[3] === 1) break; }
    return layers.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]);
  };
  const seen = new Map(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !e || /^(script|style|title|desc)$/i.test(e.tagName) || !e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
    const s = getComputedStyle(e), svg = e.closest('svg'), grounds = [behind(svg ? svg.parentElement : e)];
    if (e.classList.contains('boxtext') || (svg && e.previousElementSibling && e.previousElementSibling.tagName === 'rect' && e.classList.contains('boxtext'))) {
      const box = e.previousElementSibling;
      if (box && box.tagName === 'rect') grounds[0] = rgba(getComputedStyle(box).fill);
    }
    const bar = e.closest('td.p');
    if (bar) grounds.push(rgba(getComputedStyle(document.documentElement).getPropertyValue('--tint') ? getComputedStyle(bar).backgroundImage.match(/(rgb[^)]*\)|color\([^)]*\))/)[0] : 'white'));
    const colour = rgba(svg ? s.fill : s.color), size = parseFloat(s.fontSize), big = size >= 24 || (size >= 18.66 && +s.fontWeight >= 700);
    for (const ground of grounds) {
      const got = ratio(over(colour, ground), ground), key = [colour, ground, big].join();
      if (got < (big ? 3 : 4.5) && !seen.has(key)) seen.set(key, got.toFixed(2) + ' to 1: "' + walker.currentNode.data.trim().slice(0, 40) + '" ' + e.tagName + '.' + (e.getAttribute('class') || ''));
    }
  }
  return [...seen.values()];
}
