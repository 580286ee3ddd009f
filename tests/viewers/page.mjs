// Opens files in speedscope's own page and prints a line of JSON for each: the names that it shows, or the error.
// usage: node page.mjs SPEEDSCOPE_RELEASE_DIR TEMPORARY_DIR FILE...
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
const require = createRequire(path.resolve('build/web/node_modules/'));
const { chromium } = require('playwright-core');
const [release, scratch, ...files] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--allow-file-access-from-files', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
});
for (const [i, file] of files.entries()) {
  const page = await browser.newPage();
  const errors = [];
  page.on('console', (m) => m.type() === 'error' && errors.push(m.text()));
  page.on('pageerror', (e) => errors.push(String(e)));
  page.on('dialog', (d) => { errors.push(d.message()); d.dismiss(); });
  const script = path.join(scratch, `load-${i}.js`); // the way in which its own command line gives it a file
  const name = JSON.stringify(path.basename(file)), data = JSON.stringify(fs.readFileSync(file).toString('base64'));
  fs.writeFileSync(script, `speedscope.loadFileFromBase64(${name}, ${data})`);
  await page.goto('file://' + path.resolve(release, 'index.html') + '#localProfilePath=' + script + '&view=sandwich');
  // Its rows come a moment after their heading.
  await page.waitForFunction(() => /Symbol Name\s+\S|Unrecognized|Something went wrong|Failed/.test(document.body.innerText), null, { timeout: 15000 }).catch(() => {});
  const text = (await page.evaluate(() => document.body.innerText)).replace(/\s+/g, ' ');
  console.log(JSON.stringify({ file, read: /Symbol Name/.test(text), text: text.slice(0, 2000), errors }));
  await page.close();
}
await browser.close();
