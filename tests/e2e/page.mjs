/*
 * The filter of a report's page against that of `vitrine replay`: each line of a file of filters has to find the same
 * records, or be refused at the same character. `node page.mjs REPORT VITRINE STATE SESSION FILTERS`. The page's own
 * script is run, up to where it needs a document.
 */
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';

const [report, vitrine, state, session, filters] = process.argv.slice(2);
const html = readFileSync(report, 'utf8');
const block = id => html.split(`id="${id}">`)[1].split('</script>')[0];
const script = html.slice(html.lastIndexOf('<script>') + 8, html.lastIndexOf('</script>'));
const language = script.slice(0, script.indexOf('/*\n * The picture of a terminal'));

globalThis.document = {getElementById: id => ({textContent: block(id)})};
(0, eval)(language.replace('const page =', 'globalThis.page ='));

function onPage(text) {
	try {
		const wants = page.parse(text);
		return page.rows.filter((row, i) => wants(i)).map(row => row[0]).join();
	} catch (error) {
		if (error.position === undefined)
			throw error;
		return 'refused at character ' + (error.position + 1);
	}
}

function onCommandLine(text) {
	try {
		const out = execFileSync(vitrine, ['replay', '--state', state, session, '--json', '--filter', text], {stdio: ['ignore', 'pipe', 'pipe']});
		return out.toString().split('\n').filter(line => line).map(line => JSON.parse(line).seq).join();
	} catch (error) {
		const place = /at character ([0-9]+)/.exec(error.stderr);
		if (!place)
			throw error;
		return 'refused at character ' + place[1];
	}
}

const texts = readFileSync(filters, 'utf8').split('\n').filter(text => text);
const different = texts.filter(text => {
	const [page, commandLine] = [onPage(text), onCommandLine(text)];
	if (page !== commandLine)
		console.log(`${text}\n  page: ${page}\n  command line: ${commandLine}`);
	return page !== commandLine;
});
console.log(`${texts.length} filters, ${different.length} differ`);
process.exit(texts.length > 100 && !different.length ? 0 : 1);
