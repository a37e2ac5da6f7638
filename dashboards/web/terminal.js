/*
 * The picture of a terminal, out of what was written to it: text, cursor, erasing, scrolling, colours, the second screen.
 * What it does not know it leaves out; it answers nobody and does nothing but hold cells.
 */
class Terminal {
	constructor(columns = 80, rows = 24) {
		this.columns = columns;
		this.rows = rows;
		this.reset();
	}

	reset() {
		this.cells = Array.from({length: this.rows}, () => []);
		this.other = null;
		this.x = this.y = this.top = this.state = 0;
		this.bottom = this.rows - 1;
		this.style = '';
		this.saved = [0, 0, ''];
		this.sequence = '';
	}

	copy() {
		const other = Object.assign(Object.create(Terminal.prototype), this);
		other.cells = this.cells.map(row => row.slice());
		other.other = this.other && this.other.map(row => row.slice());
		other.saved = this.saved.slice();
		return other;
	}

	resize(columns, rows) {
		this.columns = Math.max(1, Math.min(500, columns));
		rows = Math.max(1, Math.min(300, rows));
		while (this.cells.length > rows)
			this.cells.shift();
		while (this.cells.length < rows)
			this.cells.push([]);
		this.rows = rows;
		this.top = 0;
		this.bottom = rows - 1;
		this.move(this.x, this.y);
	}

	move(x, y) {
		this.x = Math.max(0, Math.min(this.columns - 1, x));
		this.y = Math.max(0, Math.min(this.rows - 1, y));
	}

	scroll(lines) {
		for (; lines > 0; lines--) {
			this.cells.splice(this.top, 1);
			this.cells.splice(this.bottom, 0, []);
		}
		for (; lines < 0; lines++) {
			this.cells.splice(this.bottom, 1);
			this.cells.splice(this.top, 0, []);
		}
	}

	lineFeed() {
		if (this.y === this.bottom)
			this.scroll(1);
		else if (this.y < this.rows - 1)
			this.y++;
	}

	put(c) {
		const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(c);
		if (this.x + (wide ? 2 : 1) > this.columns) {
			this.x = 0;
			this.lineFeed();
		}
		this.cells[this.y][this.x++] = [c, this.style];
		if (wide && this.x < this.columns)
			this.cells[this.y][this.x++] = ['', this.style];
	}

	write(text) {
		for (const c of text) {
			if (this.state)
				this.inSequence(c);
			else if (c >= ' ' && c !== '\x7f')
				this.put(c);
			else
				this.control(c);
		}
	}

	control(c) {
		if (c === '\n' || c === '\v' || c === '\f')
			this.lineFeed();
		else if (c === '\r')
			this.x = 0;
		else if (c === '\b')
			this.x = Math.max(0, this.x - 1);
		else if (c === '\t')
			this.x = Math.min(this.columns - 1, (this.x | 7) + 1);
		else if (c === '\x1b')
			this.state = 1;
	}

	/* State: 1 behind an escape, 2 in a control sequence, 3 in a string that nobody reads, 4 behind an escape in it, 5 one more. */
	inSequence(c) {
		if (this.state === 3 || this.state === 4) {
			this.state = c === '\x07' || (this.state === 4 && c === '\\') ? 0 : c === '\x1b' ? 4 : 3;
		} else if (this.state === 5) {
			this.state = 0;
		} else if (this.state === 2) {
			if (c >= '@' && c <= '~') {
				this.state = 0;
				this.run(c);
			} else if (this.sequence.length < 64) {
				this.sequence += c;
			}
		} else {
			this.state = c === '[' ? 2 : ']PX^_'.includes(c) ? 3 : '()*+#% '.includes(c) ? 5 : 0;
			this.sequence = '';
			if (!this.state)
				this.escape(c);
		}
	}

	escape(c) {
		if (c === '7')
			this.saved = [this.x, this.y, this.style];
		else if (c === '8')
			[this.x, this.y, this.style] = this.saved;
		else if (c === 'D')
			this.lineFeed();
		else if (c === 'E')
			[this.x] = [0, this.lineFeed()];
		else if (c === 'M')
			this.y === this.top ? this.scroll(-1) : this.move(this.x, this.y - 1);
		else if (c === 'c')
			this.reset();
	}

	run(c) {
		const isPrivate = this.sequence[0] === '?', numbers = this.sequence.replace(/^[?>=]/, '').split(/[;:]/).map(Number);
		const n = Math.max(1, Math.min(10000, numbers[0] || 1)), row = this.cells[this.y];
		const erase = (y, from, to) => { for (let x = from; x < to; x++) delete this.cells[y][x]; };
		const runs = {
			A: () => this.move(this.x, this.y - n), B: () => this.move(this.x, this.y + n), C: () => this.move(this.x + n, this.y),
			D: () => this.move(this.x - n, this.y), E: () => this.move(0, this.y + n), F: () => this.move(0, this.y - n),
			G: () => this.move(n - 1, this.y), d: () => this.move(this.x, n - 1), '`': () => this.move(n - 1, this.y),
			H: () => this.move((numbers[1] || 1) - 1, n - 1), f: () => this.move((numbers[1] || 1) - 1, n - 1),
			J: () => {
				const how = numbers[0] || 0;
				for (let y = 0; y < this.rows; y++)
					if (how >= 2 || (how ? y < this.y : y > this.y))
						this.cells[y] = [];
				if (how < 2)
					how ? erase(this.y, 0, this.x + 1) : erase(this.y, this.x, this.columns);
			},
			K: () => erase(this.y, numbers[0] ? 0 : this.x, numbers[0] === 1 ? this.x + 1 : this.columns),
			L: () => { for (let i = 0; i < Math.min(n, this.rows); i++) { this.cells.splice(this.bottom, 1); this.cells.splice(this.y, 0, []); } },
			M: () => { for (let i = 0; i < Math.min(n, this.rows); i++) { this.cells.splice(this.y, 1); this.cells.splice(this.bottom, 0, []); } },
			P: () => row.splice(this.x, n), '@': () => row.splice(this.x, 0, ...Array(Math.min(n, this.columns)).fill([' ', this.style])),
			X: () => erase(this.y, this.x, Math.min(this.columns, this.x + n)),
			S: () => this.scroll(Math.min(n, this.rows)), T: () => this.scroll(-Math.min(n, this.rows)),
			r: () => {
				this.top = Math.max(0, Math.min(this.rows - 1, n - 1));
				this.bottom = Math.max(this.top, Math.min(this.rows, numbers[1] || this.rows) - 1);
				this.move(0, 0);
			},
			s: () => { this.saved = [this.x, this.y, this.style]; }, u: () => { [this.x, this.y, this.style] = this.saved; },
			m: () => this.color(numbers),
			h: () => { if (isPrivate && numbers.some(number => [47, 1047, 1049].includes(number)) && !this.other) { this.other = this.cells; this.cells = Array.from({length: this.rows}, () => []); } },
			l: () => { if (isPrivate && numbers.some(number => [47, 1047, 1049].includes(number)) && this.other) { this.cells = this.other; this.other = null; this.resize(this.columns, this.rows); } },
		};
		if (Object.hasOwn(runs, c))
			runs[c]();
	}

	/* A style is a row of class names: t1 to t7 a colour, b bold, v reversed, u underlined. */
	color(numbers) {
		const styles = new Set(this.style.split(' ').filter(name => name));
		const without = pattern => styles.forEach(name => pattern.test(name) && styles.delete(name));
		for (let i = 0; i < numbers.length; i++) {
			const n = numbers[i];
			if (n === 0)
				styles.clear();
			else if (n === 1 || n === 4 || n === 7)
				styles.add({1: 'b', 4: 'u', 7: 'v'}[n]);
			else if (n === 22 || n === 24 || n === 27)
				styles.delete({22: 'b', 24: 'u', 27: 'v'}[n]);
			else if ((n >= 30 && n <= 37) || (n >= 90 && n <= 97) || n === 39) {
				without(/^t/);
				if (n !== 39)
					styles.add('t' + n % 10);
			} else if (n === 38 || n === 48) {
				i += numbers[i + 1] === 5 ? 2 : 4;
			}
		}
		this.style = [...styles].join(' ');
	}

	/* Each line as pieces [text, style]. */
	lines() {
		return this.cells.map(row => {
			const pieces = [];
			for (let x = 0; x < row.length; x++) {
				const [c, style] = row[x] || [' ', ''];
				if (pieces.length && pieces[pieces.length - 1][1] === style)
					pieces[pieces.length - 1][0] += c;
				else
					pieces.push([c, style]);
			}
			return pieces;
		});
	}
}

