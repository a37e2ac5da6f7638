/*
 * A page in headless Chromium, over the debugging pipe: what it takes to press keys, look at the document, time it,
 * see every request and take a picture. `open(url, {width, height})`.
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export async function open(url, {width = 1280, height = 900, scheme = 'light'} = {}) {
	const home = mkdtempSync(join(tmpdir(), 'vitrine-browser-'));
	const chromium = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions',
		'--disable-background-networking', '--remote-debugging-pipe', `--user-data-dir=${home}`, `--window-size=${width},${height}`, 'about:blank'],
		{stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: {...process.env, HOME: home}});
	const waiting = new Map(), requests = [], errors = [];
	let rest = '', number = 0, session;

	chromium.stdio[4].setEncoding('utf8');
	chromium.stdio[4].on('data', text => {
		const parts = (rest + text).split('\0');
		rest = parts.pop();
		for (const part of parts) {
			const message = JSON.parse(part);
			if (message.id) {
				const {resolve, reject} = waiting.get(message.id);
				waiting.delete(message.id);
				message.error ? reject(new Error(message.error.message)) : resolve(message.result);
			} else if (message.method === 'Network.requestWillBeSent') {
				requests.push(message.params.request.url);
			} else if (message.method === 'Runtime.exceptionThrown') {
				errors.push(message.params.exceptionDetails.exception?.description || message.params.exceptionDetails.text);
			} else if (message.method === 'Log.entryAdded' && message.params.entry.level === 'error') {
				errors.push(message.params.entry.text);
			} else if (message.method === 'Page.javascriptDialogOpening') {
				errors.push('a dialog: ' + message.params.message);
			}
		}
	});
	const send = (method, params = {}) => new Promise((resolve, reject) => {
		waiting.set(++number, {resolve, reject});
		chromium.stdio[3].write(JSON.stringify({id: number, method, params, sessionId: session}) + '\0');
	});
	const {targetInfos} = await send('Target.getTargets');
	const {sessionId} = await send('Target.attachToTarget', {targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true});
	session = sessionId;
	for (const domain of ['Page', 'Runtime', 'Network', 'Log'])
		await send(domain + '.enable');
	await send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
	await send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: scheme}]});
	const begun = Date.now();
	await send('Page.navigate', {url});

	const page = {
		requests, errors,
		async see(expression) {
			const {result, exceptionDetails} = await send('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
			if (exceptionDetails)
				throw new Error(expression + ': ' + (exceptionDetails.exception?.description || exceptionDetails.text));
			return result.value;
		},
		async until(expression, ms = 20000) {
			for (const end = Date.now() + ms; Date.now() < end; await new Promise(go => setTimeout(go, 30)))
				if (await page.see(expression).catch(() => false))
					return true;
			throw new Error('never true: ' + expression);
		},
		async press(key, {text, modifiers = 0} = {}) {
			const code = {Enter: 13, Tab: 9, Escape: 27, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39, End: 35, Home: 36, ' ': 32}[key];
			const event = {key, text: text ?? (key.length === 1 ? key : key === 'Enter' ? '\r' : undefined), windowsVirtualKeyCode: code, modifiers};
			await send('Input.dispatchKeyEvent', {type: 'keyDown', ...event});
			await send('Input.dispatchKeyEvent', {type: 'keyUp', ...event, text: undefined});
		},
		type: text => send('Input.insertText', {text}),
		async picture(file) {
			const {data} = await send('Page.captureScreenshot', {format: 'png'});
			writeFileSync(file, Buffer.from(data, 'base64'));
		},
		async close() {
			send('Browser.close').catch(() => {});
			await new Promise(done => { chromium.once('exit', done); setTimeout(() => { chromium.kill('SIGKILL'); }, 5000).unref(); });
			rmSync(home, {recursive: true, force: true, maxRetries: 10, retryDelay: 100});
		},
	};
	await page.until('document.readyState === "complete"');
	page.loadedMs = Date.now() - begun;
	return page;
}
