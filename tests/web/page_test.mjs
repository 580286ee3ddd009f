// page_test.mjs - drives the pages that tests/web/pages made in Debian's chromium.  usage: node page_test.mjs DIRECTORY [PART-OF-NAME]
import { createRequire } from 'node:module';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { looks, contrasts } from './looks.mjs';

const [dir, filter = ''] = process.argv.slice(2);
const { chromium } = createRequire(process.env.WEB_MODULES + '/')('playwright-core');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let passed = 0, failed = 0;

class Wrong extends Error {}
const expect = (yes, what) => { if (!yes) throw new Wrong(what); };

// One test: a page in a context of its own; what it logs, throws or asks the network for is wrong.
async function test(name, file, act, settings = {}) {
  if (!(name + file).includes(filter)) return;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...settings });
  const page = await context.newPage(), noise = [], url = 'file://' + dir + '/' + file + '.html';
  page.setDefaultTimeout(10000);
  page.on('pageerror', e => noise.push('error: ' + e));
  page.on('console', m => noise.push('console: ' + m.text()));
  page.on('request', r => { if (!r.url().startsWith(url)) noise.push('network: ' + r.url().slice(0, 80)); });
  try {
    await page.goto(url + (settings.hash || ''));
    await act(page, noise);
    expect(!noise.length, noise.slice(0, 3).join('; '));
    passed++;
  } catch (e) {
    failed++;
    console.log('FAIL web: ' + file + ': ' + name + '\n     ' + String(e instanceof Wrong ? e.message : e).slice(0, 1200));
  }
  await context.close();
}
const open_all = page => page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
const none = list => expect(!list.length, list.slice(0, 6).join('\n     ') + (list.length > 6 ? '\n     and ' + (list.length - 6) + ' more' : ''));
const column = (page, table, n) => page.$$eval(table + ' tbody tr', (rows, k) => rows.map(r => +r.cells[k].getAttribute('data-v')), n);
const is_sorted = (list, down) => list.every((v, i) => !i || (down ? list[i - 1] >= v : list[i - 1] <= v));
const open_in = (page, id) => page.$eval('#' + id, d => d.open);

// --- Every page, however it is looked at ---------------------------------------------------------------------------------
// Loaded once; each look is a test of its own.
const frame = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
const settle = async (page, width, colorScheme = 'light', media = 'screen') => { await page.setViewportSize({ width, height: 900 }); await page.emulateMedia({ colorScheme, media }); await frame(page); };
async function look(file, name, act) {
  try { await act(); passed++; } catch (e) { failed++; console.log('FAIL web: ' + file + ': ' + name + '\n     ' + String(e instanceof Wrong ? e.message : e).slice(0, 1200)); }
}
const unprinted = () => [...document.querySelectorAll('.sec .in')].filter(e => !e.checkVisibility({ contentVisibilityAuto: true }) || e.getBoundingClientRect().height < 5).map(e => 'not printed: ' + e.parentNode.id)
  .concat([...document.querySelectorAll('button, input')].filter(e => e.checkVisibility() && !e.closest('th')).map(e => 'printed: ' + e.textContent));
for (const file of readdirSync(dir).filter(f => f.endsWith('.html')).map(f => f.slice(0, -5))) {
  const path = dir + '/' + file + '.html', html = readFileSync(path, 'utf8');
  await test('however it is looked at', file, async (page, noise) => {
    await look(file, 'print has all sections and no controls', async () => { await settle(page, 1280, 'light', 'print'); none(await page.evaluate(unprinted)); });
    for (const width of [1280, 800, 400])
      await look(file, 'the first screen is clean, ' + width, async () => { await settle(page, width); none(await page.evaluate(looks)); });
    await open_all(page);
    for (const width of [1280, 800, 400])
      await look(file, 'all sections are clean, ' + width, async () => { await settle(page, width); none(await page.evaluate(looks)); });
    await page.evaluate(() => { document.documentElement.classList.add('origin'); document.querySelectorAll('.tb').forEach(t => t.classList.add('cols', 'rows')); });
    await look(file, 'with all columns and origins nothing overlaps', async () => { await settle(page, 1280); none(await page.evaluate(looks)); });
    for (const colours of ['light', 'dark'])
      await look(file, 'contrast is AA, ' + colours, async () => { await settle(page, 1280, colours); none(await page.evaluate(contrasts)); });
    expect(!noise.length, noise.slice(0, 3).join('; '));
    await look(file, 'a foreign script does not run', async () => {
      await page.evaluate(() => { const s = document.createElement('script'); s.textContent = 'window.intruder = 1'; document.body.appendChild(s); });
      expect(!(await page.evaluate(() => window.intruder)), 'it ran');
    });
    noise.length = 0; // the browser reports what it refused
  });
  await test('without a script everything can be read', file, async page => {
    expect(await page.$$eval('button', l => l.every(b => !b.checkVisibility())), 'a button that does nothing is shown');
    expect(await page.$$eval('td.x', l => l.every(c => getComputedStyle(c).display !== 'none')), 'a column is hidden for good');
  }, { javaScriptEnabled: false });
  await look(file, 'each id is there once, and each link inside the page leads somewhere', async () => {
    const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(m => m[1]), known = new Set(ids);
    expect(known.size === ids.length, 'twice: ' + ids.filter((id, i) => ids.indexOf(id) < i).slice(0, 5).join(', '));
    none([...html.matchAll(/ href="#([^"]*)"/g)].map(m => m[1]).filter(id => !known.has(id)).map(id => 'leads nowhere: #' + id));
  });
  await look(file, 'is below 1.5 MB, without an address and without inline style', async () => {
    expect(statSync(path).size < 1.5e6, statSync(path).size + ' bytes');
    expect(!/unsafe-inline|https?:\/\/(?!www\.w3\.org\/2000\/svg")/.test(html) && !/ style=/.test(html), 'inline style, or an address');
  });
}

// --- Sentences and trees ---------------------------------------------------------------------------------------------------
await test('a sentence of the summary leads to its numbers', 'cnn', async page => {
  await page.evaluate(() => { document.getElementById('executive').open = true; });
  const links = page.locator('#executive .cites a');
  expect(await links.count() > 4, 'there are ' + await links.count() + ' links');
  const id = (await links.first().getAttribute('href')).slice(1);
  await links.first().click();
  expect(await page.evaluate(to => { const e = document.getElementById(to); return e.checkVisibility() && e.closest('details').open; }, id), '#' + id + ' is not shown');
});
await test('the eight parts stand in the contents, in order', 'cnn', async page => {
  const parts = await page.$$eval('.toc .part', l => l.map(e => e.textContent));
  expect(parts.join() === 'Metadata,Executive summary,Performance,Memory,Device comparisons,Recommendations,Appendix', parts.join());
});
await test('the call tree opens and closes, by pointer and by key', 'modules', async page => {
  await page.evaluate(() => { document.getElementById('calls').open = true; });
  const branch = page.locator('.tree details').first(), inner = branch.locator('.kids').first();
  expect(await inner.isVisible(), 'what takes most of the time is closed');
  await branch.locator('summary').first().click();
  expect(!(await inner.isVisible()), 'a click does not close it');
  await branch.locator('summary').first().press('Enter');
  expect(await inner.isVisible(), 'Enter does not open it');
  const shares = await page.$$eval('.tree > details > summary .p', l => l.map(e => e.textContent));
  expect(shares.length === 1 && shares[0].startsWith('100'), 'the root is ' + shares.join());
});

// --- Sections ------------------------------------------------------------------------------------------------------------
await test('sections are closed, open from the contents, all at once and by their address', 'cnn', async page => {
  expect(await page.$$eval('.sec', l => l.length > 5 && l.every(d => !d.open)), 'a section is open');
  await page.click('.toc a[href="#memory"]');
  await page.waitForFunction(() => document.getElementById('memory').open);
  await page.click('[data-all=open]');
  expect(await page.$$eval('.sec', l => l.every(d => d.open)), 'not all are open');
  await page.click('[data-all=close]');
  expect(await page.$$eval('.sec', l => l.every(d => !d.open)), 'not all are closed');
  await page.click('.toc a[href="#memory"]'); // once more: the address is the same already
  expect(await open_in(page, 'memory'), 'the same address does not open again');
});
await test('an address opens its section', 'cnn', async page => expect(await open_in(page, 'roofline'), 'closed'), { hash: '#roofline' });
await test('several runs have addresses of their own', 'several', async page => {
  await page.click('.bar .runs a:nth-child(2)');
  await page.click('article:nth-child(2) .toc a[href="#r2-layers"]');
  await page.waitForFunction(() => document.getElementById('r2-layers').open);
  expect(!(await open_in(page, 'r1-layers')), 'the other run opened too');
});
await test('sections that were asked for are open, without the first screen', 'sections', async page => {
  expect(await open_in(page, 'layers') && await open_in(page, 'memory'), 'closed');
  expect(!(await page.$('.tiles')), 'the first screen is there');
});
for (const kind of ['compare', 'sweep', 'bench', 'check', 'history', 'noise'])
  await test('the first screen answers', kind, async page => {
    expect(await page.$('.say, .tiles, .short'), 'no sentence, tile or table');
  });

// --- The first screen ----------------------------------------------------------------------------------------------------
await test('the first screen fits a window and says what matters', 'cnn', async page => {
  expect((await page.textContent('.say')).includes('One run takes'), 'no sentence');
  expect(await page.$$eval('.tile', l => l.length === 3 && l.every(t => t.querySelector('svg'))), 'not three tiles with pictures');
  expect(await page.$$eval('.short .used', l => l.length >= 4), 'no bars');
  expect(await page.$eval('.pair', e => e.getBoundingClientRect().bottom < 900), 'below the window');
});
await test('the badge of trust opens into the checks', 'cnn', async page => {
  await page.click('.trust summary');
  expect(await page.$$eval('.trust li', l => l.length > 1 && l.every(e => e.checkVisibility())), 'no checks');
});
await test('a command is copied', 'cnn', async page => {
  const command = await page.textContent('.try .cmd code');
  await page.click('.try .copy');
  await page.waitForFunction(() => document.querySelector('.try .copy').textContent === 'Copied');
  expect(await page.evaluate(() => navigator.clipboard.readText()) === command, 'the clipboard holds something else');
}, { permissions: ['clipboard-read', 'clipboard-write'] });

// --- Tables --------------------------------------------------------------------------------------------------------------
const steps = '#layers .tb';
await test('steps come by time, and sort by a click and by a key', 'deep', async page => {
  const heads = await page.$$eval(steps + ' th', l => l.map(h => h.textContent)), time = heads.findIndex(h => h.startsWith('time'));
  expect(is_sorted((await column(page, steps, time)).slice(0, 200), true), 'not by time at first');
  expect(await page.$$eval(steps + ' table', l => l[0].querySelector('[aria-sort=descending]').textContent.startsWith('time')), 'the heading does not say so');
  await page.click(steps + ' th:nth-child(' + (time + 1) + ') button');
  expect(await page.$eval(steps + ' [aria-sort]', h => h.getAttribute('aria-sort')) === 'ascending', 'not ascending');
  expect(is_sorted((await column(page, steps, time)).slice(0, 200), false), 'not sorted upwards');
  await page.focus(steps + ' th:nth-child(1) button');
  await page.keyboard.press('Enter');
  const names = await page.$$eval(steps + ' table', l => [...l[0].tBodies[0].rows].map(r => r.cells[0].textContent));
  expect(names[0] === [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))[0], 'not by name');
}, { hash: '#layers' });
await test('five columns are in sight, the others behind a toggle', 'deep', async page => {
  const seen = () => page.$$eval(steps + ' table', l => [...l[0].tHead.rows[0].cells].filter(c => c.checkVisibility()).length);
  expect(await seen() === 5, await seen() + ' columns');
  await page.click(steps + ' button:has-text("columns")');
  expect(await seen() > 10, await seen() + ' columns');
  await page.click(steps + ' button:has-text("columns")');
  expect(await seen() === 5, 'not hidden again');
}, { hash: '#layers' });
await test('long tables show 25 rows, all on demand, and are searched whole', 'deep', async page => {
  const seen = () => page.$$eval(steps + ' table', l => [...l[0].tBodies[0].rows].filter(r => r.checkVisibility()).length);
  expect(await seen() === 25, await seen() + ' rows');
  await page.fill(steps + ' .search', 'fc99');
  expect(await seen() === 1, await seen() + ' rows found');
  expect((await page.textContent(steps + ' output')) === '1 of 201', await page.textContent(steps + ' output'));
  await page.fill(steps + ' .search', '');
  await page.click(steps + ' button:has-text("rows")');
  expect(await seen() === 201, await seen() + ' rows in all');
}, { hash: '#layers' });
await test('a sentence of many rows is whole in each', 'deep', async page => expect(await page.$$eval('td[data-same]', l => l.length > 10 && l.every(c => c.textContent.length > 28)), 'as above'));
await test('a number says where it comes from when the pointer rests on it', 'cnn', async page => {
  await page.hover(steps + ' td[data-v]');
  expect(/^measured; source: .*; n = \d+; exactly [\d.]+ ns/.test(await page.$eval(steps + ' td[data-v]', c => c.title)), await page.$eval(steps + ' td[data-v]', c => c.title));
}, { hash: '#layers' });
await test('letters and origins are shown to who asks', 'cnn', async page => {
  const seen = () => page.$$eval('sup, .src', l => l.filter(e => e.checkVisibility()).length);
  expect(await seen() === 0, 'letters at first');
  await page.click('[data-do=origin]');
  expect(await seen() > 5 && await page.$eval('[data-do=origin]', b => b.getAttribute('aria-pressed')) === 'true', 'none');
  await page.click('[data-do=origin]');
  expect(await seen() === 0, 'they stay');
});

// --- Colours and keys ----------------------------------------------------------------------------------------------------
for (const colorScheme of ['light', 'dark'])
  await test('the toggle turns the colours, and they stay, from ' + colorScheme, 'mlp', async page => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor), before = await paper();
    await page.click('[data-do=theme]');
    const after = await paper();
    expect(before !== after, 'nothing changed');
    await page.reload();
    expect(await paper() === after, 'forgotten');
    await page.click('[data-do=theme]');
    expect(await paper() === before, 'not turned back');
  }, { colorScheme });
await test('every control is reached by the keyboard and shows its focus', 'cnn', async page => {
  const wanted = await page.$$eval('a[href], button:not([disabled]), summary, input', l => l.filter(e => e.checkVisibility({ contentVisibilityAuto: true }) && !e.closest('details:not([open]) > :not(summary)')).length);
  const reached = new Set();
  for (let i = 0; i < wanted + 40; i++) {
    await page.keyboard.press('Tab');
    const now = await page.evaluate(() => { const e = document.activeElement; if (!e || e === document.body) return null; const s = getComputedStyle(e); window.ids ||= new Map(); if (!window.ids.has(e)) window.ids.set(e, window.ids.size); return [window.ids.get(e), s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2, e.outerHTML.slice(0, 60), e.matches('a[href], button, summary, input')]; });
    if (!now) continue;
    expect(now[1], 'no focus to be seen: ' + now[2]);
    if (now[3]) reached.add(now[0]);
  }
  expect(reached.size >= wanted, reached.size + ' of ' + wanted);
});

// --- Flame graph ---------------------------------------------------------------------------------------------------------
const flame = 'svg.flame';
const widths = page => page.$$eval(flame + ' .f', l => l.map(g => g.checkVisibility() ? +g.querySelector('rect').getAttribute('width') : 0));
await test('a box of the flame graph zooms by a click and back', 'cnn', async page => {
  const before = await widths(page);
  await page.click(flame + ' .f:nth-child(3)');
  expect((await widths(page))[2] > 910, 'not the full width');
  none(await page.evaluate(looks));
  await page.click('button:has-text("Whole run")');
  expect(JSON.stringify(await widths(page)) === JSON.stringify(before), 'not as before');
}, { hash: '#layers' });
await test('keys move about in the flame graph', 'deep', async page => {
  const at = () => page.evaluate(() => document.activeElement.getAttribute('data-l'));
  await page.focus(flame + ' .f');
  const first = await at();
  await page.keyboard.press('ArrowDown');
  expect(await at() !== first, 'not down');
  for (let d; (d = await page.evaluate(() => +document.activeElement.getAttribute('data-d'))) < 8;) {
    await page.keyboard.press('ArrowDown');
    if (await page.evaluate(() => +document.activeElement.getAttribute('data-d')) === d) break;
  }
  const leaf = await at();
  await page.keyboard.press('ArrowRight');
  expect(await at() !== leaf, 'not to the right');
  await page.keyboard.press('ArrowLeft');
  expect(await at() === leaf, 'not to the left');
  await page.keyboard.press('Enter');
  expect(await page.evaluate(() => +document.activeElement.querySelector('rect').getAttribute('width')) > 910, 'no zoom');
  await page.keyboard.press('Escape');
  expect(await page.evaluate(() => +document.activeElement.querySelector('rect').getAttribute('width')) < 910, 'no way back');
}, { hash: '#layers' });
await test('the flame graph is searched', 'deep', async page => {
  await page.fill('figure .search', 'fc7');
  expect(await page.$$eval(flame + ' .hit', l => l.length > 5), 'no hits');
  expect(/^\d+ found, \d+\.\d % of the run$/.test(await page.textContent('figure output')), await page.textContent('figure output'));
}, { hash: '#layers' });

// --- Pictures ------------------------------------------------------------------------------------------------------------
await test('the graph leaves set-up steps out', 'cnn', async page => expect(await page.$$eval('svg[aria-label^="Graph"] text', l => l.length > 3 && !l.some(t => t.textContent.startsWith('pack'))), 'pack is there'), { hash: '#layers' });
await test('all points of a small roofline are named', 'cnn', async page => {
  const [points, names] = await page.$$eval('svg[aria-label=roofline]', l => [l[0].querySelectorAll('circle').length, l[0].querySelectorAll('text.label').length]);
  expect(points === names && points > 2, names + ' names of ' + points);
}, { hash: '#roofline' });
await test('a date is told once', 'history', async page => {
  const words = await page.$$eval('svg[aria-label=History] text', l => l.map(t => t.textContent).filter(t => /^\d{4}-/.test(t)));
  expect(words.length > 0 && new Set(words).size === words.length, words.join(', '));
});

await browser.close();
console.log(passed + ' passed, ' + failed + ' failed');
process.exit(failed || !passed ? 1 : 0);
