/*
 * A report in a browser: `node report.mjs REPORT LARGE`. REPORT is of a session with output, a refused mount and hostile
 * names; LARGE of one with 100,000 records. Everything by keyboard. Prints TAP.
 */
import {open} from './browser.mjs';

const [report, large] = process.argv.slice(2);
let count = 0, failed = 0;

function ok(isGood, name, more = '') {
	console.log(`${isGood ? 'ok' : 'not ok'} ${++count} - ${name}`);
	if (!isGood) {
		failed = 1;
		console.log('# ' + String(more).split('\n').join('\n# '));
	}
}

async function check(name, does) {
	try {
		await does();
		ok(true, name);
	} catch (error) {
		ok(false, name, error.message);
	}
}

const page = await open('file://' + report);
const note = `document.querySelector('#list .note').textContent`;
const shows = pattern => page.until(`/${pattern}/.test(${note})`);
const focused = `(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent)`;

async function filter(text) {
	await page.press('Escape');
	await page.press('/');
	await page.until(`document.activeElement.getAttribute('aria-label') === 'filter'`);
	await page.type(text);
}

await check('the page is there', () => page.until(`document.querySelectorAll('#list .row').length > 10`));
const all = Number(await page.see(`page.rows.length`));
await check('a filter by the keyboard', async () => {
	await filter('kind:exec argv~curl');
	await shows('^1 of ' + all);
});
await check('its values, and from one of them to its like', async () => {
	await page.press('Escape');
	await page.press('ArrowDown');
	await page.press('Enter');
	await page.until(`document.querySelector('.detail button.value')`);
	ok(await page.see(`[...document.querySelectorAll('.detail dt')].some(e => e.textContent === 'attack')`), 'a technique stands among them');
	for (let i = 0; i < 60 && !/^T1567 /.test(await page.see(focused)); i++)
		await page.press('Tab');
	await page.press('Enter');
	await page.until(`document.querySelector('#list input').value.includes('attack:T1567')`);
	await shows('^1 of');
});
await check('a bad filter is refused at its place', async () => {
	await filter('path:(');
	await shows('at character 6');
});
await check('the link keeps the filter', async () => {
	await filter('kind:attempt');
	await page.until(`location.hash.includes('filter=kind%3Aattempt')`);
});
await check('lanes are zoomed by the keyboard, and the list with them', async () => {
	await filter(' ');
	await shows('^' + all + ' of');
	await page.see(`document.getElementById('lanes').focus()`);
	await page.press('+');
	await page.press('+');
	await page.until(`Number(${note}.split(' ')[0]) < ${all}`);
	ok(await page.see(`[...document.querySelectorAll('#lanes path.bars')].some(e => e.style.display === 'none')`), 'and drawn anew');
	await page.press('ArrowRight');
	await page.press('0');
	await shows('^' + all + ' of');
});
await check('the terminal shows the last words', async () => {
	await page.see(`document.querySelector('.screen').focus()`);
	await page.press('End');
	await page.until(`document.querySelector('.screen').textContent.includes('last words')`);
});
await check('and what stood there at the start', async () => {
	await page.see(`document.querySelector('.screen').focus()`);
	await page.press('Home');
	await page.until(`!document.querySelector('.screen').textContent.includes('last words')`);
});
await check('and is played to its end', async () => {
	await page.see(`{ const speed = document.querySelector('#terminal select'); speed.value = 64; }`);
	await page.press(' ', {text: ' '});
	await page.until(`document.querySelector('.screen').textContent.includes('last words') && document.querySelector('#terminal button').textContent === 'play'`);
});
ok(await page.see(`document.querySelector('.screen').textContent.includes('    picture')`), 'with what was put to its place');
ok(await page.see(`![...document.querySelectorAll('*')].some(e => ['IMG', 'IFRAME', 'OBJECT', 'EMBED', 'FORM'].includes(e.tagName) ||
	[...e.attributes].some(a => a.name.startsWith('on') || a.name === 'src'))`), 'hostile names made no elements');
ok(await page.see(`window.owned === undefined && !document.title.includes('owned')`), 'and ran nothing');
ok(await page.see(`!/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.querySelector('main').innerText)`), 'and turned no text round');
await page.see(`new Promise(go => setTimeout(go, 200))`);
ok(page.requests.length === 1 && page.requests[0] === 'file://' + report, 'no request leaves the page', page.requests.join('\n'));
ok(!page.errors.length, 'and nothing went wrong in it', page.errors.join('\n'));
await page.close();

const big = await open('file://' + large, {scheme: 'dark'});
await big.until(`page.rows.length >= 100000 && document.querySelectorAll('#list .row').length > 10`);
console.log(`# 100,000 records: loaded in ${big.loadedMs} ms`);
ok(big.loadedMs < 30000, 'a large one loads');
for (const text of ['kind:output', 'path:/workspace/*', 'pid:>5000', 'forged', 'path~SPACE', 'pid:100..200 or kind:end']) {
	await big.see(`{ const i = document.querySelector('#list input'); document.getElementById('list').dataset.ms = ''; i.value = ${JSON.stringify(text)};
		i.dispatchEvent(new Event('input')); }`);
	await big.until(`document.getElementById('list').dataset.ms`);
	console.log(`# ${text}: ${await big.see(`document.getElementById('list').dataset.ms`)} ms, ${await big.see(note)}`);
}
ok(!big.errors.length, 'and filters', big.errors.join('\n'));
await big.close();
console.log('1..' + count);
process.exit(failed);
