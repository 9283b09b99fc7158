"use strict";
// A run as it goes on. What comes is text of programs that are traced: it becomes text nodes and nothing else.
(async () => {
	const $ = id => document.getElementById(id);
	const make = (tag, props = {}, ...kids) => {
		const e = Object.assign(document.createElement(tag), props);
		e.append(...kids);
		return e;
	};
	// Characters that would not show, or would move others, stand by their number, as in hawk's other output.
	const named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"};
	const shown = text =>
		String(text).replace(
			/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
			c => {
				const n = c.charCodeAt(0).toString(16);
				return named[c] || (n.length < 3 ? "\\x" + n.padStart(2, "0") : "\\u" + n.padStart(4, "0"));
			},
		);

	// Reports of a script say in words how severe they are.
	const SEVERE = {errorf: "ERROR: ", warnf: "WARNING: "};

	// The token comes in the fragment, which no server sees. It is kept for this tab.
	const given = () => {
		const t = new URLSearchParams(location.hash.slice(1)).get("t") || "";
		// The flame graph keeps a number by the same letter.
		if (t.length < 16) return false;
		sessionStorage.setItem("hawk-token", t);
		history.replaceState(null, "", location.pathname);
		return true;
	};
	given();
	// The address of another run may come into the same tab, which the browser takes for the same page.
	addEventListener("hashchange", () => given() && location.reload());
	const token = sessionStorage.getItem("hawk-token");
	const ask = (path, more = {}) =>
		fetch(path, {...more, cache: "no-store", headers: token ? {Authorization: "Bearer " + token} : {}});

	function banner(text) {
		$("banner").hidden = !text;
		$("banner").textContent = text;
	}

	const COLOURS = {
		light: ["#1b1b1b", "#0072b2", "#d55e00", "#009e73", "#8a6d00", "#a34b7d"],
		dark: ["#eceef2", "#56b4e9", "#e69f00", "#2fbf93", "#f0e442", "#cc79a7"],
	};
	// Lightness grows strictly, so that it tells without colour; zero is the ground itself.
	const HEAT = {
		light: [
			"#e9ebf2",
			"#d0d4e0",
			"#b4bacb",
			"#969db3",
			"#7a8198",
			"#5f667f",
			"#454d6b",
			"#2c3558",
			"#0b1d45",
		],
		dark: ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#fee838"],
	};
	const dark = () => {
		const theme = document.documentElement.dataset.theme;
		return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	};
	const colours = () => COLOURS[dark() ? "dark" : "light"];

	const state = {
		script: null,
		panes: new Map(),
		range: null, // [from, to] in seconds, or null for all
		paused: false,
		now: 0,
		lost: 0,
		seen: 0,
		ended: "",
		events: [],
		sites: [],
		count: 0,
		rate: 0,
		profiles: new Map(),
	};

	// How long a look is taken to have taken at least, in seconds.
	const LEAST = 0.02;
	// Rows of a table, and of one over time; what is beyond is counted.
	const MOST_ROWS = 500,
		MOST_TIMES = 200;
	// Room beside and below a heat map for what its rows and columns are.
	const SIDE = 76,
		FOOT = 18;

	const SI = [
		["E", 1e18],
		["P", 1e15],
		["T", 1e12],
		["G", 1e9],
		["M", 1e6],
		["k", 1e3],
	];
	// Three digits tell numbers apart, and are what the terminal shows.
	const three = n => String(Math.abs(n) < 1000 ? Number(n.toPrecision(3)) : Math.round(n));
	const short = n => {
		const size = Math.abs(n);
		if (size >= 10000)
			for (const [letter, by] of SI) if (size >= by) return three(n / by) + " " + letter;
		if (size >= 100) return Math.round(n).toLocaleString("en");
		return Number.isInteger(n) ? String(n) : n.toPrecision(3);
	};
	const TIMES = {ns: 1, us: 1e3, ms: 1e6, s: 1e9};
	const SIZES = {bytes: 1, kib: 1024, mib: 1024 ** 2, pages: 4096};
	function amount(n, unit) {
		if (typeof n !== "number" || !Number.isFinite(n)) return shown(n ?? "");
		if (TIMES[unit]) {
			const t = n * TIMES[unit];
			if (t === 0) return "0 " + unit.replace("u", "µ");
			for (const [name, by] of [
				["s", 1e9],
				["ms", 1e6],
				["µs", 1e3],
			])
				if (Math.abs(t) >= by) return three(t / by) + " " + name;
			return three(t) + " ns";
		}
		if (SIZES[unit]) {
			const b = n * SIZES[unit];
			for (const [name, by] of [
				["TiB", 1024 ** 4],
				["GiB", 1024 ** 3],
				["MiB", 1024 ** 2],
				["KiB", 1024],
			])
				if (Math.abs(b) >= by) return three(b / by) + " " + name;
			return three(b) + " B";
		}
		return Number.isInteger(n) ? n.toLocaleString("en") : n.toPrecision(4);
	}
	// Numbers that a float cannot hold come as text.
	const number = v =>
		typeof v === "string" && /^-?\d+$/.test(v) ? Number(v) : typeof v === "number" ? v : NaN;
	function plain(v) {
		if (v === null) return "";
		if (Array.isArray(v)) {
			const isStack = v.length && v.every(f => Array.isArray(f) && f.length === 3);
			return isStack ? v.map(f => f[0]).join(" ← ") : "[" + v.map(plain).join(", ") + "]";
		}
		if (typeof v === "object")
			return Object.entries(v)
				.map(([k, of]) => k + " " + plain(of))
				.join(", ");
		return String(v);
	}
	const keyOf = row => row[0].map(plain).join(", ");

	// What a row weighs, for order and bars.
	function weigh(kind, v) {
		switch (kind) {
			case "summary":
				return number(v.total) || 0;
			case "histogram":
				return v.buckets.reduce((sum, b) => sum + Number(b[2]), 0);
			case "series":
				return v.points.length;
		}
		return number(v) || 0;
	}

	// What did not get into a map, in the words of hawk's other views.
	function refusal(r) {
		const n = i => i.toLocaleString("en");
		if (!r.refused) return "";
		const full = r.full ? `${r.held < r.capacity ? "was " : ""}full: ${n(r.held)} of ${n(r.capacity)}, ` : "";
		return `${full}${n(r.refused)} update${r.refused === 1 ? "" : "s"} refused`;
	}

	// Lines across a time in which nobody looked: the machine slept, or hawk was stopped.
	function hatch(pen, left, top, right, high) {
		pen.save();
		pen.beginPath();
		pen.rect(left, top, right - left, high);
		pen.clip();
		pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim();
		pen.beginPath();
		for (let x = left - high; x < right; x += 8) {
			pen.moveTo(x, top + high);
			pen.lineTo(x + high, top);
		}
		pen.stroke();
		pen.restore();
	}

	class Pane {
		constructor(fact) {
			this.fact = fact;
			this.rows = [];
			this.entries = 0;
			this.past = {keys: [], times: [], lines: [], buckets: []};
			this.before = new Map();
			this.span = 0;
			this.sort = null;
			this.down = true;
			this.find = "";
			this.key = "";
			this.chart = null;
			this.tabled = false;
			this.ranged = null;
			this.dirty = true;
			this.build();
		}
		build() {
			const f = this.fact;
			this.title = make("h2", {
				textContent: shown(f.name) + (f.labels.length ? "[" + f.labels.join(", ") + "]" : ""),
			});
			this.about = make("span", {className: "about"});
			this.full = make("strong", {className: "full"});
			const head = make("header", {}, this.title, this.full, this.about);
			if (f.keyed || f.kind === "record") {
				const find = make("input", {type: "search", placeholder: "filter", spellcheck: false});
				find.setAttribute("aria-label", "filter " + f.name);
				find.oninput = () => {
					this.find = find.value;
					this.draw(true);
				};
				head.append(find);
			}
			if (f.keyed && ["histogram", "series"].includes(f.kind)) {
				this.chooser = make("select");
				this.chooser.setAttribute("aria-label", "key of " + f.name);
				this.chooser.onchange = () => {
					this.key = this.chooser.value;
					this.draw(true);
				};
				head.append(this.chooser);
			}
			if (["counter", "summary", "gauge", "histogram"].includes(f.kind)) {
				const over = make("button", {textContent: "table over time", title: "t"});
				this.over = over;
				over.setAttribute("aria-pressed", "false");
				over.onclick = () => {
					this.tabled = !this.tabled;
					over.setAttribute("aria-pressed", String(this.tabled));
					this.draw(true);
				};
				head.append(over);
			}
			const csv = make("button", {textContent: "csv"});
			csv.onclick = () =>
				download("/v1/map/" + encodeURIComponent(f.name) + "?format=csv" + spanQuery("&"), "csv");
			head.append(csv);
			this.picture = make("div");
			this.table = make("div", {className: "scroll", tabIndex: 0});
			this.table.setAttribute("role", "region");
			this.table.setAttribute("aria-label", "rows of " + f.name);
			this.more = make("p", {className: "about"});
			this.section = make("section", {className: "pane"}, head, this.picture, this.table, this.more);
			this.section.setAttribute("aria-label", f.name);
			this.section.addEventListener("keydown", e => {
				const typing = /^(INPUT|SELECT)$/.test(e.target.tagName);
				if (e.key !== "t" || typing || e.ctrlKey || e.metaKey || e.altKey || !this.over) return;
				e.preventDefault();
				e.stopPropagation(); // it is not meant for the flame graph
				this.over.click();
			});
		}
		take(record) {
			if (record.of !== "total" && record.of !== "now") return;
			const at = record.t / 1e9;
			this.before = new Map(this.rows.map(r => [keyOf(r), weigh(this.fact.kind, r[1])]));
			this.span = this.rows.length || this.at ? at - (this.at || 0) : 0;
			this.at = at;
			this.refused = refusal(record);
			this.rows = record.rows;
			this.entries = record.entries;
			this.dirty = true;
		}
		takePast(record) {
			const p = this.past;
			if (record.whole) {
				p.times = [];
				p.buckets = [];
				p.lines = (record.lines || []).map(() => []);
			}
			if (record.whole || p.keys.length !== (record.keys || []).length) this.dropChart();
			p.keys = record.keys || [];
			p.times.push(...record.times);
			if (record.buckets) p.buckets.push(...record.buckets);
			for (const [i, line] of (record.lines || []).entries()) (p.lines[i] ||= []).push(...line);
			const old = p.times.findIndex(t => t[1] > record.times.at(-1)[1] - state.script.history);
			if (old > 0) {
				p.times.splice(0, old);
				p.buckets.splice(0, Math.min(old, p.buckets.length));
				for (const line of p.lines) line.splice(0, old);
			}
			this.dirty = true;
		}
		dropChart() {
			if (this.chart) this.chart.destroy();
			this.chart = null;
		}
		current() {
			return this.ranged ? this.ranged.rows : this.rows;
		}
		draw(force) {
			if (!this.dirty && !force) return;
			this.dirty = false;
			const f = this.fact,
				rows = this.current(),
				entries = this.ranged ? this.ranged.entries : this.entries;
			const parts = [f.kind];
			if (f.unit) parts.push(f.unit);
			if (f.keyed) parts.push(entries.toLocaleString("en") + (entries === 1 ? " key" : " keys"));
			if (f.help) parts.push(shown(f.help));
			if (f.kind === "histogram") parts.push(...this.percentiles(rows));
			if (this.ranged) parts.push(`${this.ranged.from.toFixed(2)} s to ${this.ranged.to.toFixed(2)} s`);
			if (this.past.times.some(t => t[2])) parts.push("hatched: asleep or stopped");
			this.full.textContent = this.refused;
			if (this.chooser) this.choices(rows);
			if (f.kind === "histogram") this.histogram(rows);
			else if (f.kind === "series") this.series(rows);
			else this.plainRows(rows);
			if (this.chart && ["counter", "summary"].includes(f.kind)) parts.push("lines per second");
			this.about.textContent = parts.join(" · ");
			const left = entries - rows.length,
				more = [];
			if (this.cut > 0) more.push(this.cut.toLocaleString("en") + " rows more" + (this.find ? " match" : ""));
			if (left > 0) more.push(left.toLocaleString("en") + " keys more, which weigh less");
			this.more.textContent = more.join(" · ");
		}
		choices(rows) {
			const keys = rows.map(keyOf).sort();
			const list = this.fact.kind === "histogram" ? ["", ...keys] : keys;
			if (
				this.chooser.options.length === list.length &&
				[...this.chooser.options].every((o, i) => o.value === list[i])
			)
				return;
			this.chooser.replaceChildren(...list.map(k => new Option(k === "" ? "all keys" : shown(k), k)));
			if (!list.includes(this.key)) this.key = list[0] ?? "";
			this.chooser.value = this.key;
		}
		buckets(rows) {
			const sums = new Map();
			for (const row of rows)
				if (!this.fact.keyed || this.key === "" || keyOf(row) === this.key)
					for (const [low, high, n] of row[1].buckets) {
						const at = low === null ? -Infinity : Number(low);
						const b = sums.get(at) || [low, high, 0];
						b[2] += Number(n);
						sums.set(at, b);
					}
			return [...sums.entries()].sort((a, b) => a[0] - b[0]).map(e => e[1]);
		}
		percentiles(rows) {
			const all = this.buckets(rows),
				total = all.reduce((sum, b) => sum + b[2], 0),
				out = ["total " + total.toLocaleString("en")];
			if (!total) return out;
			for (const p of [50, 90, 99]) {
				let sum = 0;
				const b = all.find(b => (sum += b[2]) >= (total * p) / 100);
				out.push(
					"p" +
						p +
						(b[1] === null
							? " > " + amount(Number(b[0]), this.fact.unit)
							: " ≤ " + amount(this.upper(b), this.fact.unit)),
				);
			}
			return out;
		}
		// Times end where the next bucket begins, since they were rounded down; what is counted ends one before.
		upper([, high]) {
			return Number(high) + (TIMES[this.fact.unit] ? 1 : 0);
		}
		bound([low, high]) {
			const unit = this.fact.unit;
			if (low === null) return "… " + amount(Number(high), unit);
			if (high === null) return amount(Number(low), unit) + " …";
			return low === high
				? amount(Number(low), unit)
				: amount(Number(low), unit) + " – " + amount(this.upper([low, high]), unit);
		}
		histogram(rows) {
			if (this.tabled) this.overTime();
			else this.heat();
			const all = this.buckets(rows),
				most = Math.max(1, ...all.map(b => b[2]));
			this.fill(
				["value", "count", ""],
				all.map(b => [text(this.bound(b)), count(b[2]), bar(b[2], most)]),
			);
		}
		// The buckets that anything came in, from where they begin to where they end.
		highs() {
			return new Map(this.past.buckets.flat().map(b => [b[0] === null ? -Infinity : b[0], b[1]]));
		}
		// A picture of time by bucket; a column is a look at the map, or a window that the script closed.
		heat() {
			const {times, buckets} = this.past;
			if (times.length < 2) return this.picture.replaceChildren();
			let canvas = this.picture.querySelector("canvas");
			if (!canvas) {
				canvas = make("canvas", {className: "heat"});
				canvas.setAttribute("role", "img");
				this.picture.replaceChildren(canvas);
				choosing(canvas, x => this.timeAt(x, canvas));
			}
			// A row for each bucket, the smallest first, and an empty one where nothing came in between.
			const highs = this.highs();
			const lows = [];
			for (const low of [...highs.keys()].sort((a, b) => a - b)) {
				const below = lows.length ? highs.get(lows.at(-1)) : null;
				if (below !== null && Number(low) > Number(below) + 1) lows.push(null);
				lows.push(low);
			}
			const ratio = devicePixelRatio || 1,
				w = canvas.clientWidth,
				h = canvas.clientHeight;
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
			const pen = canvas.getContext("2d");
			pen.scale(ratio, ratio);
			const first = times[0][0],
				last = times.at(-1)[1],
				deep = h - FOOT,
				x = t => SIDE + ((t - first) / (last - first || 1)) * (w - SIDE);
			// What came in a second: a look that was later does not look like more.
			const rate = (i, n) => n / Math.max(times[i][1] - times[i][0], LEAST);
			let most = 0;
			for (const [i, column] of buckets.entries())
				for (const b of column) most = Math.max(most, rate(i, b[2]));
			const scale = HEAT[dark() ? "dark" : "light"],
				size = deep / Math.max(lows.length, 1);
			for (const [i, column] of buckets.entries())
				for (const [low, , n] of column) {
					const at = lows.indexOf(low === null ? -Infinity : low);
					const step = Math.min(
						scale.length - 1,
						Math.floor((Math.log1p(rate(i, n)) / Math.log1p(most)) * scale.length),
					);
					pen.fillStyle = scale[step];
					const left = x(times[i][0]);
					pen.fillRect(
						left,
						deep - (at + 1) * size,
						Math.max(x(times[i][1]) - left, 1),
						Math.max(size - 0.5, 1),
					);
				}
			for (const [from, to, gap] of times) if (gap) hatch(pen, x(from), 0, x(to), deep);
			if (state.range) {
				pen.strokeStyle = colours()[2];
				pen.lineWidth = 2;
				pen.strokeRect(x(state.range[0]), 1, x(state.range[1]) - x(state.range[0]), deep - 2);
			}
			pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim();
			pen.font = "12px system-ui, sans-serif";
			pen.textAlign = "right";
			pen.textBaseline = "middle";
			for (let i = 0, free = h; i < lows.length; i++) {
				const y = deep - (i + 0.5) * size;
				if (lows[i] === null || y > free || y < 6) continue;
				const low = lows[i] === -Infinity ? "less" : amount(Number(lows[i]), this.fact.unit);
				pen.fillText(low, SIDE - 6, y);
				free = y - 15;
			}
			pen.textAlign = "left";
			pen.fillText(first.toFixed(0) + " s", SIDE, h - FOOT / 2);
			pen.textAlign = "right";
			pen.fillText(last.toFixed(0) + " s", w - 2, h - FOOT / 2);
			const top = lows.at(-1);
			canvas.setAttribute(
				"aria-label",
				`Values of ${this.fact.name} over ${Math.round(last - first)} seconds, small ones below; ` +
					`the largest from ${amount(top, this.fact.unit)}; the table over time has the counts.`,
			);
		}
		timeAt(px, canvas) {
			const {times} = this.past,
				first = times[0][0],
				last = times.at(-1)[1];
			return first + (Math.max(0, px - SIDE) / (canvas.clientWidth - SIDE)) * (last - first);
		}
		series(rows) {
			const row = rows.find(r => !this.fact.keyed || keyOf(r) === this.key) || rows[0];
			if (!row) return;
			const {interval, points} = row[1],
				x = points.map(p => (Number(p[0]) * Number(interval)) / 1e9),
				y = points.map(p => Number(p[1]));
			this.lines([x, y], ["value"], true);
			this.fill(
				["time", "value"],
				points
					.map((p, i) => [
						text(new Date(x[i] * 1000).toISOString().slice(11, 23)),
						count(y[i], this.fact.unit),
					])
					.reverse(),
			);
		}
		// Numbers: those of the heaviest keys over time, and a table of all.
		plainRows(rows) {
			const f = this.fact;
			if (["counter", "summary", "gauge"].includes(f.kind)) this.overTime();
			const span = this.ranged ? this.ranged.to - this.ranged.from : this.span;
			const rate = row => {
				const now = weigh(f.kind, row[1]);
				if (!(span > 0)) return NaN;
				return this.ranged ? now / span : Math.max(0, now - (this.before.get(keyOf(row)) || 0)) / span;
			};
			let names = [...f.labels],
				cells;
			const key = row =>
				f.keyed
					? row[0].length === 1 && f.labels.length > 1
						? [row[0][0], ...f.labels.slice(1).map(() => "")]
						: row[0]
					: [];
			if (f.kind === "counter") {
				names.push("total", "per second", "");
				cells = row => [count(row[1], f.unit, row[2]), count(rate(row), f.unit)];
			} else if (f.kind === "summary") {
				names.push("count", "total", "average", "");
				cells = row => [
					count(row[1].count),
					count(row[1].total, f.unit, row[2]),
					count(row[1].count ? Number(row[1].total) / Number(row[1].count) : 0, f.unit),
				];
			} else if (f.kind === "record") {
				const columns = f.columns || [];
				const leaves = columns.flat(Infinity);
				names.push(...leaves.map(c => c.name));
				cells = row =>
					parts(columns, row[1]).map((v, i) =>
						leaves[i].kind === "gauge" ? count(v, leaves[i].unit) : any(v),
					);
			} else {
				names.push("value", "");
				cells = row => [f.kind === "gauge" ? count(row[1], f.unit) : any(row[1])];
			}
			const most = Math.max(1, ...rows.map(r => weigh(f.kind, r[1])));
			const bars = names.at(-1) === "" && f.keyed;
			if (names.at(-1) === "" && !bars) names.pop();
			let list = rows.map(row => [
				...key(row).map(any),
				...cells(row),
				...(bars ? [bar(weigh(f.kind, row[1]), most)] : []),
			]);
			if (this.sort === null) list.sort((a, b) => (bars ? b.at(-1).sort - a.at(-1).sort : 0));
			this.fill(names, list);
		}
		// Lines of the heaviest keys, or the same as a table.
		overTime() {
			const {times, lines, keys} = this.past,
				f = this.fact;
			if (f.kind === "histogram" || this.tabled) {
				this.dropChart();
				const hist = f.kind === "histogram",
					all = hist ? this.highs() : new Map(),
					lows = [...all.keys()].sort((a, b) => a - b);
				const bounds = lows.map(low => this.bound([low === -Infinity ? null : low, all.get(low)]));
				const names = ["from", "to", ...(hist ? ["count", ...bounds] : ["all", ...keys.map(shown)])];
				const body = times.map((t, i) => {
					const of = new Map(hist ? this.past.buckets[i].map(b => [b[0] ?? -Infinity, Number(b[2])]) : []);
					return [
						count(t[0], "s"),
						count(t[1], "s"),
						...(hist
							? [count([...of.values()].reduce((a, b) => a + b, 0))]
							: lines.map(l => count(l[i], f.unit))),
						...lows.map(low => count(of.get(low) || 0)),
					];
				});
				const box = make("div", {className: "scroll", tabIndex: 0});
				tableInto(box, names, body.reverse().slice(0, MOST_TIMES), null, true);
				this.picture.replaceChildren(box);
				if (body.length > MOST_TIMES)
					this.picture.append(
						make("p", {
							className: "about",
							textContent:
								(body.length - MOST_TIMES).toLocaleString("en") + " rows more, which are older",
						}),
					);
				return;
			}
			if (times.length < 2) return this.picture.replaceChildren();
			const each = lines.map(l =>
				l.map((n, i) => (f.kind === "gauge" ? n : n / Math.max(times[i][1] - times[i][0], LEAST))),
			);
			const data = [times.map(t => t[1]), ...each];
			this.lines(data, [keys.length ? "all keys" : f.name, ...keys], false);
		}
		lines(data, names, clock) {
			const what = names.join("\n") + dark();
			if (this.chart && this.drawn === what) {
				return this.chart.setData(data);
			}
			this.dropChart();
			this.drawn = what;
			const box = make("div", {className: "chart"});
			box.setAttribute("role", "img");
			box.setAttribute(
				"aria-label",
				this.fact.name + " over time; the table below and the table over time have the numbers.",
			);
			this.picture.replaceChildren(box);
			const ink = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim(),
				grid = getComputedStyle(document.documentElement).getPropertyValue("--line").trim(),
				unit = this.fact.unit,
				axis = {stroke: ink, grid: {stroke: grid, width: 1}, ticks: {stroke: grid, width: 1}};
			const rated = ["counter", "summary"].includes(this.fact.kind);
			const tick = t => (SIZES[unit] || TIMES[unit] ? amount(t, unit) : short(t));
			const value = n => (n === null || n === undefined ? "–" : amount(n, unit) + (rated ? "/s" : ""));
			this.chart = new uPlot(
				{
					width: Math.max(box.clientWidth, 200),
					height: 170,
					scales: {
						x: {time: clock},
						y: {range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1]},
					},
					cursor: {drag: {x: true, y: false, setScale: false}},
					legend: {live: true},
					axes: [
						{...axis, values: clock ? undefined : (_, ticks) => ticks.map(t => t + " s")},
						{
							...axis,
							size: 76,
							values: (_, ticks) => ticks.map(tick),
						},
					],
					series: [
						{
							label: "time",
							value: (_, t) =>
								t === null
									? "–"
									: clock
										? new Date(t * 1000).toISOString().slice(11, 23)
										: t.toFixed(1) + " s",
						},
						...names.map((name, i) => ({
							label: shown(name),
							stroke: colours()[i % 6],
							width: i ? 1.5 : 2,
							dash: i ? undefined : [5, 3],
							value: (_, n) => value(n),
						})),
					],
					hooks: {
						draw: [
							() => this.mark(),
							u => {
								const at = t => u.valToPos(t, "x", true);
								for (const [from, to, gap] of clock ? [] : this.past.times)
									if (gap) hatch(u.ctx, at(from), u.bbox.top, at(to), u.bbox.height);
							},
						],
						setSelect: [
							u => {
								if (clock || u.select.width < 3) return;
								choose(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
								u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
							},
						],
					},
				},
				data,
				box,
			);
			this.mark();
		}
		mark() {
			if (this.chart && this.fact.kind !== "series") {
				const u = this.chart;
				if (!state.range) return u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
				const from = Math.max(0, u.valToPos(state.range[0], "x")),
					to = Math.min(u.bbox.width / (devicePixelRatio || 1), u.valToPos(state.range[1], "x"));
				u.setSelect(
					{
						left: from,
						width: Math.max(0, to - from),
						top: 0,
						height: u.bbox.height / (devicePixelRatio || 1),
					},
					false,
				);
			}
		}
		fill(names, rows) {
			if (this.find) {
				const fits = matcher(this.find);
				rows = rows.filter(cells => cells.some(c => c.text !== undefined && fits(c.text)));
			}
			if (this.sort !== null && this.sort < names.length) {
				const at = this.sort,
					by = this.down ? -1 : 1;
				rows.sort((a, b) => {
					const x = a[at].sort ?? a[at].text,
						y = b[at].sort ?? b[at].text;
					return (x < y ? -1 : x > y ? 1 : 0) * by;
				});
			}
			tableInto(this.table, names, rows.slice(0, MOST_ROWS), this);
			this.cut = rows.length - MOST_ROWS;
		}
		async restrict(range) {
			this.ranged = null;
			if (range) {
				try {
					const r = await ask(
						"/v1/map/" + encodeURIComponent(this.fact.name) + "?format=json" + spanQuery("&"),
					);
					const records = (await r.text())
						.trim()
						.split("\n")
						.map(line => JSON.parse(line));
					const map = records.find(m => m.type === "map");
					// Whole looks are shown, which begin before the range and end after it.
					const span = r.headers.get("Hawk-Span"),
						[from, to] = span ? span.split(" ").map(t => Number(t) / 1e9) : range;
					if (state.range === range && map)
						this.ranged = {rows: map.rows, entries: map.entries, from, to};
				} catch {
					banner("hawk does not answer");
				}
			}
			this.draw(true);
			this.mark();
		}
	}

	// Cells of tables: text as it is shown, and what it is sorted by.
	const text = s => ({text: s});
	const count = (v, unit, least) => {
		const n = number(v);
		if (Number.isNaN(n)) return {text: "–", sort: -Infinity, number: true};
		const shown =
			typeof v === "string" && !unit
				? BigInt(v).toLocaleString("en")
				: amount(!Number.isInteger(n) && !unit ? Number(n.toPrecision(4)) : n, unit);
		return {text: (least ? "≥ " : "") + shown, sort: n, number: true};
	};
	// The members of a record are nested as its columns are.
	const parts = (columns, v) =>
		Array.isArray(columns) ? columns.flatMap((c, i) => parts(c, Object.values(v ?? {})[i])) : [v];
	const any = v => {
		const n = number(v);
		return Number.isNaN(n) ? text(shown(plain(v))) : {text: String(v), sort: n, number: true};
	};
	const bar = (n, most) => ({sort: n, share: Math.max(0, n) / most});

	function tableInto(box, names, rows, pane, fixed) {
		let table = box.querySelector("table");
		const numbers = names.map((_, i) => Boolean(rows[0]?.[i]?.number));
		const head = [...names, ...numbers, ...(pane ? [pane.sort, pane.down] : [])].join("\n");
		if (!table || table.dataset.head !== head) {
			const tr = make("tr");
			for (const [i, name] of names.entries()) {
				const th = make("th", {scope: "col"});
				if (pane && name && !fixed) {
					const mark = pane.sort === i ? (pane.down ? " ▼" : " ▲") : "";
					const b = make("button", {textContent: shown(name) + mark});
					b.onclick = () => {
						pane.down = pane.sort === i ? !pane.down : true;
						pane.sort = i;
						pane.draw(true);
						box.querySelectorAll("th button")[names.filter((n, k) => n && k < i).length]?.focus();
					};
					th.append(b);
					if (pane.sort === i) th.setAttribute("aria-sort", pane.down ? "descending" : "ascending");
				} else th.textContent = shown(name);
				if (numbers[i]) th.className = "n";
				tr.append(th);
			}
			table = make("table", {}, make("thead", {}, tr), make("tbody"));
			table.dataset.head = head;
			box.replaceChildren(table);
		}
		const body = table.tBodies[0];
		body.replaceChildren(
			...rows.map(cells => {
				const tr = make("tr");
				for (const c of cells) {
					const td = tr.insertCell();
					if (c.share !== undefined) {
						td.className = "barcell";
						const b = make("div");
						b.style.width = (c.share * 100).toFixed(1) + "%";
						td.append(b);
						continue;
					}
					td.textContent = c.text;
					if (c.number) td.className = "n";
				}
				return tr;
			}),
		);
	}

	// A filter is text, or an expression between slashes. One that is no expression yet is text.
	function matcher(find) {
		const m = /^\/(.+)\/$/.exec(find);
		if (m)
			try {
				const re = new RegExp(m[1]);
				return s => re.test(s);
			} catch {
				/* it is text */
			}
		const low = find.toLowerCase();
		return s => s.toLowerCase().includes(low);
	}

	// A range of time holds for all panes.
	const spanQuery = mark =>
		state.range
			? mark + "from=" + Math.round(state.range[0] * 1e9) + "&to=" + Math.round(state.range[1] * 1e9)
			: "";
	function choose(from, to) {
		if (to < from) [from, to] = [to, from];
		state.range = [Math.max(0, from), Math.max(0.001, to)];
		ranged();
	}
	function ranged() {
		const r = state.range;
		$("span").textContent = r
			? `${r[0].toFixed(2)} s to ${r[1].toFixed(2)} s in all panes`
			: "whole run; drag over a picture to choose a part";
		$("entire").disabled = !r;
		if (r) {
			$("from").value = r[0].toFixed(3);
			$("to").value = r[1].toFixed(3);
		}
		for (const p of state.panes.values()) p.restrict(r);
		stacks(true);
		lines();
	}
	$("range").onsubmit = e => {
		e.preventDefault();
		if ($("to").value !== "") choose(Number($("from").value) || 0, Number($("to").value));
	};
	$("entire").onclick = () => {
		state.range = null;
		ranged();
	};
	// Dragging over a picture chooses a range.
	function choosing(canvas, timeAt) {
		let start = null;
		canvas.onpointerdown = e => {
			start = e.offsetX;
			canvas.setPointerCapture(e.pointerId);
		};
		canvas.onpointerup = e => {
			if (start !== null && Math.abs(e.offsetX - start) > 3) choose(timeAt(start), timeAt(e.offsetX));
			start = null;
		};
	}

	async function download(path, ext) {
		try {
			const r = await ask(path);
			if (!r.ok) return banner(shown((await r.text()).trim()));
			const a = make("a", {href: URL.createObjectURL(await r.blob()), download: "hawk." + ext});
			a.click();
			setTimeout(() => URL.revokeObjectURL(a.href), 10000);
		} catch {
			banner("hawk does not answer");
		}
	}
	$("save").onclick = () => download("/v1/snapshot?format=html", "html");
	$("look").onclick = () => ask("/v1/look").catch(() => banner("hawk does not answer"));
	$("pause").onclick = () => {
		state.paused = !state.paused;
		$("pause").setAttribute("aria-pressed", String(state.paused));
		if (!state.paused) paint(true);
	};
	$("dark").onclick = () => {
		document.documentElement.dataset.theme = dark() ? "light" : "dark";
		dispatchEvent(new Event("resize"));
	};
	$("lost").onclick = () => {
		state.seen = state.lost;
		facts();
	};

	// Stacks are asked for while they can be seen, every two seconds.
	let asked = 0,
		asking = false;
	async function stacks(now) {
		if (
			!state.profiles.size ||
			asking ||
			(!now && (state.paused || document.hidden || Date.now() - asked < 2000))
		)
			return;
		if (!now && !state.freshStacks) return;
		state.freshStacks = false;
		asking = true;
		asked = Date.now();
		try {
			const all = await Promise.all(
				[...state.profiles.keys()].map(async name => {
					const r = await ask("/v1/map/" + encodeURIComponent(name) + "?format=tries" + spanQuery("&"));
					return r.ok ? (await r.json()).profiles : [];
				}),
			);
			$("stacks").hidden = false;
			globalThis.flame.show({profiles: all.flat()});
		} catch {
			/* the stream tells when hawk is gone */
		}
		asking = false;
	}

	function stamp(t) {
		if (!state.script?.start) return (t / 1e9).toFixed(3);
		return new Date(state.script.start + t / 1e6).toISOString().slice(11, 23);
	}
	let fits = null;
	$("filter").oninput = () => {
		fits = $("filter").value ? matcher($("filter").value) : null;
		lines();
	};
	$("follow").onchange = () => lines();
	function lines() {
		if ($("events").hidden || state.paused || !$("follow").checked) return;
		const r = state.range,
			out = [];
		for (let i = state.events.length - 1; i >= 0 && out.length < 500; i--) {
			const e = state.events[i];
			if (e.gap) {
				out.push(
					make(
						"tr",
						{className: "gap"},
						Object.assign(make("td", {textContent: `··· ${e.gap.toLocaleString("en")} ${e.what} ···`}), {
							colSpan: 4,
						}),
					),
				);
				continue;
			}
			if ((r && (e.t < r[0] * 1e9 || e.t > r[1] * 1e9)) || (fits && !fits(e.text))) continue;
			const tr = make("tr");
			for (const s of [stamp(e.t), e.cpu ?? "", e.pid ?? "", shown(e.text.replace(/\n$/, ""))])
				tr.insertCell().textContent = s;
			out.push(tr);
		}
		$("lines").replaceChildren(...out.reverse());
		$("count").textContent = state.count.toLocaleString("en") + ", " + short(state.rate) + "/s";
		$("rolling").scrollTop = $("rolling").scrollHeight;
	}

	function facts() {
		const s = Math.floor(state.now);
		$("clock").textContent = [s / 3600, (s / 60) % 60, s % 60]
			.map(n => String(Math.floor(n)).padStart(2, "0"))
			.join(":");
		$("rate").textContent = short(state.rate) + "/s";
		$("lost").textContent = state.lost.toLocaleString("en") + (state.lost ? " events lost" : "");
		$("lost").classList.toggle("some", state.lost > state.seen);
	}

	let told = 0,
		last = {t: 0, n: 0},
		fresh = false;
	function take(record) {
		const pane = state.panes.get(record.name);
		switch (record.type) {
			case "script": // another run has other events
				if (state.run && state.run !== record.start) {
					state.events = [];
					state.count = 0;
				}
				state.run = record.start;
				break;
			case "map":
				pane?.take(record);
				break;
			case "past":
				pane?.takePast(record);
				break;
			case "profile":
				state.profiles.set(record.name, record);
				full.textContent = [...state.profiles.values()]
					.filter(p => p.refusal)
					.map(p => shown(p.name) + " " + p.refusal)
					.join(", ");
				state.freshStacks = true;
				break;
			case "event":
				state.count++;
				record.text = (SEVERE[state.script.sites[record.site]?.builtin] ?? "") + record.text;
				state.events.push(record);
				fresh = true;
				break;
			case "gap":
				state.events.push({gap: record.events, what: "events were not kept"});
				state.count += record.events;
				fresh = true;
				break;
			case "loss":
				if (record.events > state.lost) state.events.push({gap: record.events - state.lost, what: "lost"});
				state.lost = record.events;
				break;
			case "status":
				status(record);
				break;
			case "end":
				state.ended =
					`ended after ${(record.t / 1e9).toFixed(1)} s: ${record.cause}` +
					(record.status ? `, status ${record.status}` : "");
				state.now = record.t / 1e9;
				banner(state.ended);
		}
		if (state.events.length > 12000) state.events.splice(0, state.events.length - 10000);
	}
	function status(r) {
		if (!state.ended) state.now = (Date.now() - state.script.start) / 1000;
		state.lost = Math.max(state.lost, r.lost);
		$("probes").textContent = r.probes.toLocaleString("en") + (r.failed ? `, ${r.failed} failed` : "");
		$("load").textContent =
			(r.load * 100).toFixed(1) + " % of a CPU" + (r.period > 1 ? `, every ${r.period.toFixed(0)} s` : "") +
			(r.slowest > Math.max(1, r.period) ? `, large maps every ${r.slowest.toFixed(0)} s` : "");
		const at = Date.now() / 1000;
		if (at - last.t > 0.9) {
			state.rate = last.t ? Math.max(0, state.count - last.n) / (at - last.t) : 0;
			last = {t: at, n: state.count};
		}
		if (Date.now() - told > 10000) {
			told = Date.now();
			$("said").textContent = `${Math.round(state.now)} seconds, ${state.count} events, ${state.lost} lost`;
		}
	}

	let queued = false;
	function paint(force) {
		if (state.paused) return;
		facts();
		if (queued && !force) return;
		queued = true;
		requestAnimationFrame(() => {
			queued = false;
			for (const p of state.panes.values()) p.draw(force);
			if (fresh || force) {
				fresh = false;
				if (state.events.length) $("events").hidden = false;
				lines();
			}
			stacks();
			document.documentElement.dataset.live = "1";
		});
	}
	let resizing;
	addEventListener("resize", () => {
		clearTimeout(resizing);
		resizing = setTimeout(() => {
			for (const p of state.panes.values()) {
				p.dropChart();
				p.draw(true);
			}
		}, 100);
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
		dispatchEvent(new Event("resize")),
	);

	// The stream is read by fetch, which can send the token. What was open is taken up again.
	let stop = null;
	async function follow() {
		for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
			stop = new AbortController();
			try {
				const r = await ask("/v1/stream?after=" + state.count, {signal: stop.signal});
				if (!r.ok) {
					banner(shown((await r.text()).trim()));
					return;
				}
				if (!state.ended) banner("");
				wait = 500;
				last = {t: 0, n: 0};
				let rest = "";
				const decoder = new TextDecoder();
				for (const reader = r.body.getReader(); ;) {
					const {done, value} = await reader.read();
					if (done) break;
					const text = rest + decoder.decode(value, {stream: true}),
						records = text.split("\n");
					rest = records.pop();
					for (const line of records) if (line.startsWith("data: ")) take(JSON.parse(line.slice(6)));
					paint();
				}
			} catch {
				if (document.hidden) return;
			}
			if (state.ended) return banner(state.ended);
			banner("hawk does not answer; the page shows what came last");
			await new Promise(done => setTimeout(done, wait));
		}
	}
	let hiding;
	document.addEventListener("visibilitychange", () => {
		clearTimeout(hiding);
		if (document.hidden) hiding = setTimeout(() => stop?.abort(), 10000);
		else if (stop?.signal.aborted && !state.ended) follow();
	});

	const r = await ask("/v1/script").catch(() => null);
	if (!r?.ok) {
		banner(r ? shown((await r.text()).trim()) : "hawk does not answer");
		return;
	}
	state.script = await r.json();
	document.title = shown(state.script.title || state.script.name) + " – hawk";
	$("title").textContent = shown(state.script.title || state.script.name);
	$("script").textContent = state.script.text
		.split("\n")
		.map(line => line.split("\t").map(shown).join("\t"))
		.join("\n");
	for (const fact of state.script.maps) {
		if (fact.profile) continue;
		const pane = new Pane(fact);
		state.panes.set(fact.name, pane);
		(fact.role === "result" ? $("panes") : $("states")).append(pane.section);
		if (fact.role !== "result") $("internal").hidden = false;
	}
	const stacked = state.script.maps.filter(f => f.profile).map(f => shown(f.name));
	const full = make("strong", {className: "full"});
	if (stacked.length)
		$("stacks").prepend(make("header", {}, make("h2", {textContent: stacked.join(", ") + " stacks"}), full));
	await follow();
})();
