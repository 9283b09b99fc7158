"use strict";
// A flame graph of stacks. The data is in the element "data", or is given to flame.show; nothing is fetched.
(async () => {
	const $ = id => document.getElementById(id);
	let data = $("data") ? await read($("data")) : {profiles: []};
	const canvas = $("graph"),
		pen = canvas.getContext("2d");
	const ROW = 19,
		FONT = "12px ui-monospace,Menlo,Consolas,monospace";
	// Parts of keys to choose from; a list of more is no help.
	const MOST_PARTS = 200;
	// The path of a package or file goes first where a box is too narrow: names of Go are alike in their first half.
	const PATH = /^[^([{<> ]*\/(?=[^([{<> ])/;
	const state = {
		profile: 0,
		type: -1,
		label: "",
		zoom: 0,
		focus: 0,
		search: "",
		icicle: false,
		byName: false,
		view: "graph",
		least: 0,
		fn: -1,
		gone: false,
	};
	let unsettled = true,
		tree,
		boxes = [],
		rows = [],
		matches = null,
		charWidth = 7.2;

	async function read(element) {
		const text = element.textContent;
		if (element.dataset.form !== "gzip") return JSON.parse(text);
		// A loop is ten times as fast as what takes a function, which counts where there are many megabytes.
		const packed = atob(text.trim()),
			bytes = new Uint8Array(packed.length);
		for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
		// A piece is decoded as it comes: a Response would hold all of them first.
		const pieces = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader(),
			decoder = new TextDecoder();
		let json = "";
		for (let next; !(next = await pieces.read()).done; ) json += decoder.decode(next.value, {stream: true});
		return JSON.parse(json + decoder.decode());
	}

	// A tree has for each node parent, name, self and total, parents in front of their children.
	function makeTree(names, kinds, parent, name, self, old) {
		const n = parent.length,
			total = new Float64Array(self),
			before = new Float64Array(old || 0);
		const depth = new Int32Array(n),
			count = new Int32Array(n + 1);
		for (let i = n - 1; i > 0; i--) {
			total[parent[i]] += total[i];
			if (old) before[parent[i]] += before[i];
			count[parent[i] + 1]++;
		}
		for (let i = 1; i < n; i++) depth[i] = depth[parent[i]] + 1;
		for (let i = 0; i < n; i++) count[i + 1] += count[i];
		const at = count.slice(),
			kids = new Int32Array(Math.max(n - 1, 0));
		for (let i = 1; i < n; i++) kids[at[parent[i]]++] = i;
		const t = {
			names,
			kinds,
			parent,
			name,
			self,
			old: old || null,
			total,
			before,
			depth,
			first: count,
			kids,
			n,
		};
		t.width = state.gone && old ? before : total;
		order(t);
		return t;
	}
	function order(t) {
		const by = state.byName
			? (a, b) => (t.names[t.name[a]] < t.names[t.name[b]] ? -1 : 1)
			: (a, b) => t.width[b] - t.width[a];
		for (let i = 0; i < t.n; i++) {
			const from = t.first[i],
				to = t.first[i + 1];
			if (to - from > 1) t.kids.set(Array.from(t.kids.subarray(from, to)).sort(by), from);
		}
	}

	function current() {
		return data.profiles[state.profile];
	}
	function build() {
		const p = current();
		if (state.type < 0 || state.type >= p.types.length) state.type = p.primary;
		if (!labels(p).includes(state.label)) state.label = "";
		const of = self => self && only(p, self, state.label);
		tree = makeTree(p.names, p.kinds, p.parent, p.name, of(p.self[state.type]), of(p.old && p.old[state.type]));
		if (state.zoom >= tree.n) state.zoom = 0;
		if (state.focus >= tree.n) state.focus = state.zoom;
		find();
	}

	// The parts of keys, which stand as frames outside of all functions.
	// Files of other tools do not tell them from functions.
	const labels = p => (p.kinds.some(kind => kind) ? p.names.filter((_, i) => p.kinds[i] === 0).sort() : []);
	// What stacks with a part of a key weigh; others weigh nothing, and are not drawn.
	function only(p, self, part) {
		if (!part) return self;
		const inside = new Uint8Array(self.length);
		return self.map((n, i) => {
			const name = p.name[i];
			inside[i] = i && (inside[p.parent[i]] || (p.kinds[name] === 0 && p.names[name] === part));
			return inside[i] ? n : 0;
		});
	}

	// The callees of a function as a tree, or its callers: wherever it stands, but once a stack.
	function around(t, fn, callers) {
		const names = t.names,
			parent = [-1],
			name = [fn],
			self = [0],
			edges = new Map();
		const child = (at, what) => {
			const key = at * names.length + what;
			let to = edges.get(key);
			if (to === undefined) {
				to = parent.length;
				edges.set(key, to);
				parent.push(at);
				name.push(what);
				self.push(0);
			}
			return to;
		};
		const place = new Int32Array(t.n).fill(-1); // of a node below the function, in the new tree
		for (let i = 0; i < t.n; i++) {
			const up = i ? place[t.parent[i]] : -1;
			if (up >= 0) {
				if (!callers) {
					place[i] = child(up, t.name[i]);
					self[place[i]] += t.self[i];
				} else place[i] = 0;
			} else if (i && t.name[i] === fn) {
				place[i] = 0;
				if (!callers) {
					self[0] += t.self[i];
					continue;
				}
				let at = 0;
				for (let k = t.parent[i]; k > 0; k = t.parent[k]) at = child(at, t.name[k]);
				self[at] += t.total[i];
			}
		}
		return makeTree(names, t.kinds, parent, name, self, null);
	}

	const UNITS = {
		nanoseconds: [1000, ["ns", "µs", "ms", "s"]],
		microseconds: [1000, ["µs", "ms", "s"]],
		milliseconds: [1000, ["ms", "s"]],
		seconds: [1000, ["s"]],
		bytes: [1024, ["B", "KiB", "MiB", "GiB", "TiB"]],
	};
	function amount(x) {
		const type = current().types[state.type],
			unit = UNITS[type.unit];
		if (!unit) return Math.round(x).toLocaleString("en-US") + (type.unit === "count" ? "" : " " + type.unit);
		let i = 0;
		for (; Math.abs(x) >= unit[0] && i < unit[1].length - 1; i++) x /= unit[0];
		return (x >= 100 || Number.isInteger(x) ? Math.round(x) : x.toPrecision(3)) + " " + unit[1][i];
	}
	function percent(x, of) {
		const p = of ? (100 * x) / of : 0;
		return (p !== 0 && Math.abs(p) < 0.1 ? p.toPrecision(2) : p.toFixed(1)) + " %";
	}
	function label(t, i) {
		return t.name[i] < 0 ? "all" : t.names[t.name[i]];
	}

	// Text, or an expression between slashes. The share counts each stack once.
	function find() {
		const text = state.search;
		matches = null;
		let share = "";
		if (text) {
			let test;
			const expr = /^\/(.+)\/(i?)$/.exec(text);
			try {
				const re = expr ? new RegExp(expr[1], expr[2]) : null;
				const low = text.toLowerCase();
				test = re ? s => re.test(s) : s => s.toLowerCase().includes(low);
			} catch {
				test = null;
				share = "no expression";
			}
			if (test) {
				matches = tree.names.map(test);
				let sum = 0;
				const inside = new Uint8Array(tree.n);
				for (let i = 1; i < tree.n; i++) {
					inside[i] = inside[tree.parent[i]];
					if (!inside[i] && matches[tree.name[i]]) {
						inside[i] = 1;
						sum += tree.total[i];
					}
				}
				share = percent(sum, tree.total[0]) + " matched";
			}
		}
		$("share").textContent = share;
	}

	const PALETTE = {
		light: {
			user: [["#9cc3e6", "#86b4dd", "#b1d0ec", "#a3c8da"], "#12202e"],
			kernel: [["#f2b482", "#eca56b", "#f6c39a", "#f0b78f"], "#2e1a08"],
			jit: [["#dfb0cd"], "#2e1024"],
			label: [["#d9d9de"], "#1b1b1b"],
			mark: [["#c3c3cb"], "#1b1b1b"],
		},
		dark: {
			user: [["#28557e", "#2f6190", "#224a6e", "#2c5a72"], "#eaf3fb"],
			kernel: [["#8a4f1c", "#985a24", "#7b4517", "#855030"], "#fdf0e4"],
			jit: [["#6d3a5b"], "#fbeaf4"],
			label: [["#3d3f46"], "#f0f0f0"],
			mark: [["#55575f"], "#f0f0f0"],
		},
	};
	const KINDS = ["label", "user", "kernel", "jit", "mark"];
	function dark() {
		const chosen = document.documentElement.dataset.theme;
		return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	}
	const shades = new Map();
	function shade(s) {
		let h = shades.get(s);
		if (h === undefined) {
			h = 2166136261;
			for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 16777619) >>> 0;
			shades.set(s, h);
		}
		return h;
	}
	// With an older run beside it, blue says less, orange more, by the function's own share.
	function change(t, i) {
		const now = t.total[0] ? t.self[i] / t.total[0] : 0,
			was = t.before[0] ? t.old[i] / t.before[0] : 0;
		return now - was;
	}
	function colour(t, i) {
		const theme = dark() ? "dark" : "light";
		if (t.old && i) {
			const d = change(t, i),
				m = Math.min(1, Math.sqrt(Math.abs(d) * 10));
			const from = dark() ? [58, 60, 66] : [244, 244, 246],
				to = d > 0 ? [224, 130, 60] : [70, 130, 200];
			return [
				"rgb(" + from.map((c, k) => Math.round(c + (to[k] - c) * m)) + ")",
				dark() || m > 0.75 ? "#fff" : "#111",
			];
		}
		const [list, text] = PALETTE[theme][KINDS[t.name[i] < 0 ? 0 : t.kinds[t.name[i]]]];
		return [list[shade(label(t, i)) % list.length], text];
	}

	let queued = false;
	function draw() {
		if (queued || !tree) return;
		queued = true;
		requestAnimationFrame(() => {
			queued = false;
			paint();
		});
	}
	function paint() {
		const graph = state.view !== "table";
		canvas.hidden = !graph;
		$("table").hidden = graph;
		crumbs();
		if (!graph) return table();
		const width = canvas.clientWidth || 600;
		boxes = [];
		let depth;
		if (state.view === "around" && state.fn >= 0) {
			const up = around(tree, state.fn, true),
				down = around(tree, state.fn, false);
			const above = place(up, 0, width, []),
				below = place(down, 0, width, []);
			const deepest = list => list.reduce((most, b) => Math.max(most, b.row), 0),
				high = deepest(above);
			depth = high + deepest(below);
			for (const b of above) if (b.row) boxes.push({...b, row: high - b.row, tree: up});
			for (const b of below) boxes.push({...b, row: high + b.row, tree: down});
		} else {
			boxes = place(tree, state.zoom, width, []);
			depth = boxes.reduce((most, b) => Math.max(most, b.row), 0);
			if (unsettled) {
				// a graph that is higher than the window begins at its root
				unsettled = false;
				if (depth * ROW > innerHeight - 180) {
					state.icicle = true;
					controls();
				}
			}
			for (const b of boxes) {
				b.tree = tree;
				if (!state.icicle) b.row = depth - b.row;
			}
		}
		const height = (depth + 1) * ROW + 2,
			ratio = devicePixelRatio || 1;
		canvas.style.height = height + "px";
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.min(Math.round(height * ratio), 32000);
		// What is higher than a canvas can be is drawn with fewer dots.
		pen.setTransform(ratio, 0, 0, canvas.height / height, 0, 0);
		pen.clearRect(0, 0, width, height);
		pen.font = FONT;
		pen.textBaseline = "middle";
		charWidth = pen.measureText("MMMMMMMMMM").width / 10;
		const style = getComputedStyle(document.documentElement),
			hit = style.getPropertyValue("--hit"),
			line = style.getPropertyValue("--focus");
		rows = [];
		for (const b of boxes) {
			(rows[b.row] ||= []).push(b);
			const y = b.row * ROW + 1,
				w = Math.max(b.w - (b.w > 3 ? 1 : 0), 0.5);
			if (b.many) {
				pen.fillStyle = dark() ? "#4a4d55" : "#c9ccd3";
				pen.fillRect(b.x, y, w, ROW - 1);
				continue;
			}
			const [fill, ink] = colour(b.tree, b.node);
			const matched = matches && b.node && matches[b.tree.name[b.node]];
			pen.globalAlpha = matches && !matched ? 0.35 : b.dim ? 0.6 : 1;
			pen.fillStyle = matched ? hit : fill;
			pen.fillRect(b.x, y, w, ROW - 1);
			const room = Math.floor((b.w - 7) / charWidth);
			if (room >= 3) {
				let text = label(b.tree, b.node);
				if (text.length > room && b.tree.kinds[b.tree.name[b.node]]) text = text.replace(PATH, "");
				if (text.length > room) text = text.slice(0, room - 1) + "…";
				pen.fillStyle = matched ? "#fff" : ink;
				pen.globalAlpha = matches && !matched ? 0.6 : 1;
				pen.fillText(text, b.x + 4, y + ROW / 2);
			}
			pen.globalAlpha = 1;
			if (b.tree === tree && b.node === state.focus && document.activeElement === canvas) {
				pen.strokeStyle = line;
				pen.lineWidth = 2;
				pen.strokeRect(b.x + 1, y + 1, Math.max(w - 2, 2), ROW - 3);
			}
		}
		canvas.setAttribute(
			"aria-label",
			`Flame graph of ${current().title}: ${amount(tree.total[0])} in all, ${tree.n - 1} frames. ` +
				"Arrow keys choose a function, Enter zooms, t shows a table.",
		);
		say(state.focus);
	}
	// Boxes of a tree from a node on, the path to it above. What is too narrow is one grey box.
	function place(t, top, width, out) {
		const path = [];
		for (let i = t.parent[top]; i >= 0; i = t.parent[i]) path.unshift(i);
		path.forEach((i, row) => out.push({node: i, x: 0, w: width, row, dim: true}));
		const all = t.width[top],
			least = Math.max(0.5, (state.least / 100) * width),
			base = t.depth[top];
		if (!all) {
			out.push({node: top, x: 0, w: width, row: path.length});
			return out;
		}
		const stack = [[top, 0]];
		while (stack.length) {
			const [i, x] = stack.pop(),
				row = t.depth[i] - base + path.length;
			out.push({node: i, x, w: (t.width[i] / all) * width, row});
			// Narrow ones stand behind the others, whatever their order, so that they are one.
			let at = x,
				many = 0,
				sum = 0;
			for (let k = t.first[i]; k < t.first[i + 1]; k++) {
				const c = t.kids[k],
					w = (t.width[c] / all) * width;
				if (w >= least) {
					stack.push([c, at]);
					at += w;
				} else if (w > 0) {
					many++;
					sum += t.width[c];
				}
			}
			const end = x + (t.width[i] / all) * width;
			if (many) out.push({many, sum, x: Math.min(at, end - 1), w: Math.max(end - at, 1), row: row + 1});
		}
		return out;
	}

	function describe(t, i) {
		const text = label(t, i),
			parts = [amount(t.total[i]) + " (" + percent(t.total[i], t.total[0]) + ")"];
		if (state.zoom && t === tree) parts.push(percent(t.total[i], t.total[state.zoom]) + " of the zoomed");
		parts.push("self " + amount(t.self[i]) + " (" + percent(t.self[i], t.total[0]) + ")");
		if (t.old) {
			parts.push(
				"before " + amount(t.before[i]) + " (" + percent(t.before[i], t.before[0]) + ")",
				"self before " + amount(t.old[i]),
			);
			const d = t.total[i] - t.before[i];
			parts.push("difference " + (d < 0 ? "-" : "+") + amount(Math.abs(d)));
			if (t.before[i]) parts.push("ratio " + (t.total[i] / t.before[i]).toFixed(2));
		}
		return text + "\n" + parts.join("  ");
	}
	function say(i) {
		$("info").textContent = describe(tree, i).replace("\n", "   ");
	}
	function boxAt(event) {
		const r = canvas.getBoundingClientRect(),
			x = event.clientX - r.left,
			row = Math.floor((event.clientY - r.top - 1) / ROW);
		return (rows[row] || []).find(b => x >= b.x && x < b.x + Math.max(b.w, 1));
	}
	canvas.addEventListener("mousemove", e => {
		const b = boxAt(e),
			tip = $("tip");
		tip.hidden = !b;
		if (!b) return;
		tip.textContent = b.many
			? b.many + " frames too narrow to draw: " + amount(b.sum) + " (" + percent(b.sum, b.tree.total[0]) + ")"
			: describe(b.tree, b.node);
		const w = tip.offsetWidth,
			h = tip.offsetHeight;
		tip.style.left = Math.max(2, Math.min(e.clientX + 12, innerWidth - w - 6)) + "px";
		tip.style.top = (e.clientY + h + 22 > innerHeight ? e.clientY - h - 10 : e.clientY + 16) + "px";
	});
	canvas.addEventListener("mouseleave", () => {
		$("tip").hidden = true;
	});
	canvas.addEventListener("click", e => {
		const b = boxAt(e);
		if (!b || b.many) return;
		if (b.tree !== tree) {
			if (b.tree.name[b.node] >= 0) merge(b.tree.name[b.node]);
			return;
		}
		state.focus = b.node;
		zoom(b.node);
	});
	function zoom(i) {
		state.zoom = i;
		state.focus = i;
		changed();
	}
	function merge(fn) {
		state.fn = fn;
		state.view = "around";
		changed();
	}
	function crumbs() {
		const box = $("crumbs"),
			list = [];
		if (state.view === "around" && state.fn >= 0) {
			box.replaceChildren(
				Object.assign(document.createElement("span"), {
					textContent: "callers above, callees below: " + tree.names[state.fn],
				}),
			);
			return;
		}
		for (let i = state.zoom; i >= 0; i = tree.parent[i]) list.unshift(i);
		box.replaceChildren(
			...list.map(i => {
				const b = document.createElement("button");
				b.textContent = label(tree, i);
				b.title = describe(tree, i);
				b.onclick = () => zoom(i);
				return b;
			}),
		);
	}

	// The table has a row for each function: what it weighs itself, and with all it calls.
	let sortBy = "self";
	function table() {
		const n = tree.names.length,
			self = new Float64Array(n),
			total = new Float64Array(n),
			open = new Int32Array(n);
		const walk = [[0, false]];
		while (walk.length) {
			const [i, leaving] = walk.pop(),
				k = tree.name[i];
			if (k >= 0) {
				if (leaving) {
					open[k]--;
					continue;
				}
				self[k] += tree.self[i];
				if (!open[k]++) total[k] += tree.total[i];
				walk.push([i, true]);
			}
			for (let c = tree.first[i]; c < tree.first[i + 1]; c++) walk.push([tree.kids[c], false]);
		}
		let list = Array.from({length: n}, (_, i) => i);
		if (matches) list = list.filter(i => matches[i]);
		if (state.label) list = list.filter(i => total[i]);
		list.sort(
			sortBy === "name"
				? (a, b) => (tree.names[a] < tree.names[b] ? -1 : 1)
				: sortBy === "self"
					? (a, b) => self[b] - self[a] || total[b] - total[a]
					: (a, b) => total[b] - total[a],
		);
		const rows = list.slice(0, 500).map(i => {
			const tr = document.createElement("tr");
			for (const text of [
				amount(self[i]),
				percent(self[i], tree.total[0]),
				amount(total[i]),
				percent(total[i], tree.total[0]),
			])
				tr.insertCell().textContent = text;
			const b = document.createElement("button");
			b.textContent = tree.names[i];
			b.onclick = () => merge(i);
			tr.insertCell().append(b);
			return tr;
		});
		$("rows").replaceChildren(...rows);
		$("more").textContent = list.length > 500 ? list.length - 500 + " more functions are not shown" : "";
	}
	for (const key of ["self", "total", "name"])
		$("by-" + key).onclick = () => {
			sortBy = key;
			draw();
		};

	function stackOf(i) {
		const out = [];
		for (; i > 0; i = tree.parent[i]) out.push(label(tree, i));
		return out.join("\n");
	}
	async function copy() {
		try {
			await navigator.clipboard.writeText(stackOf(state.focus));
			$("info").textContent = "copied the stack of " + label(tree, state.focus);
		} catch {
			$("info").textContent = stackOf(state.focus).replaceAll("\n", " ← ");
		}
	}
	function savePicture() {
		canvas.toBlob(blob => {
			const a = document.createElement("a");
			a.href = URL.createObjectURL(blob);
			a.download = "flame.png";
			a.click();
			setTimeout(() => URL.revokeObjectURL(a.href), 1000);
		});
	}

	// The state stands in the fragment of the address, so that a link leads to it.
	function changed() {
		const f = new URLSearchParams();
		const put = (key, value, usual) => {
			if (value !== usual) f.set(key, value);
		};
		put("p", state.profile, 0);
		put("t", state.type, current().primary);
		put("l", state.label, "");
		put("z", state.zoom, 0);
		put("s", state.search, "");
		put("i", +state.icicle, -1);
		put("n", +state.byName, 0);
		put("v", state.view, "graph");
		put("m", state.least, 0);
		put("f", state.fn, -1);
		put("g", +state.gone, 0);
		history.replaceState(null, "", "#" + f);
		controls();
		draw();
	}
	function restore() {
		if (!data.profiles.length) return;
		const f = new URLSearchParams(location.hash.slice(1));
		const number = (key, usual, most) => {
			const n = Number(f.get(key) ?? usual);
			return Number.isFinite(n) && n <= most ? n : usual;
		};
		state.profile = Math.max(0, number("p", 0, data.profiles.length - 1) | 0);
		state.type = number("t", -1, 9) | 0;
		state.label = f.get("l") || "";
		state.search = f.get("s") || "";
		unsettled = !f.has("i");
		state.icicle = f.get("i") === "1";
		state.byName = f.get("n") === "1";
		state.gone = f.get("g") === "1";
		state.view = ["table", "around"].includes(f.get("v")) ? f.get("v") : "graph";
		state.least = Math.max(0, number("m", 0, 50));
		state.zoom = state.focus = Math.max(0, number("z", 0, 1e9) | 0);
		state.fn = number("f", -1, current().names.length - 1) | 0;
		if (state.fn < 0 && state.view === "around") state.view = "graph";
		build();
		controls();
		draw();
	}
	function controls() {
		const p = current();
		$("profile").value = state.profile;
		$("type").replaceChildren(
			...p.types.map(
				(t, i) =>
					new Option(t.name + (t.unit === "count" || t.unit === t.name ? "" : " (" + t.unit + ")"), i),
			),
		);
		$("type").value = state.type;
		$("type").parentElement.hidden = p.types.length < 2;
		const parts = labels(p);
		$("label").replaceChildren(
			new Option("all", ""),
			...parts.slice(0, MOST_PARTS).map(part => new Option(part, part)),
		);
		if (parts.length > MOST_PARTS) $("label").append(new Option(parts.length - MOST_PARTS + " more: zoom to them"));
		$("label").value = state.label;
		$("label").parentElement.hidden = parts.length < 2;
		$("search").value = state.search;
		$("least").value = state.least;
		for (const [id, on] of [
			["icicle", state.icicle],
			["byname", state.byName],
			["tabled", state.view === "table"],
			["sandwich", state.view === "around"],
			["gone", state.gone],
		])
			$(id).setAttribute("aria-pressed", on);
		$("gone").hidden = !p.old;
	}
	function press(id, act) {
		$(id).onclick = () => {
			act();
			changed();
		};
	}
	press("reset", () => {
		state.zoom = state.focus = 0;
		state.search = state.label = "";
		state.view = "graph";
		state.least = 0;
		build();
	});
	press("icicle", () => {
		state.icicle = !state.icicle;
	});
	press("byname", () => {
		state.byName = !state.byName;
		order(tree);
	});
	// Who walks by keys goes on where the graph was.
	press("tabled", () => {
		const walking = canvas.contains(document.activeElement) || $("table").contains(document.activeElement);
		state.view = state.view === "table" ? "graph" : "table";
		if (walking) requestAnimationFrame(() => (state.view === "table" ? $("by-self") : canvas).focus());
	});
	press("gone", () => {
		state.gone = !state.gone;
		build();
	});
	press("sandwich", () => {
		if (state.view === "around") state.view = "graph";
		else if (tree.name[state.focus] >= 0) {
			state.fn = tree.name[state.focus];
			state.view = "around";
		} else $("info").textContent = "choose a function first";
	});
	$("copy").onclick = copy;
	$("picture").onclick = savePicture;
	$("theme").onclick = () => {
		document.documentElement.dataset.theme = dark() ? "light" : "dark";
		draw();
	};
	$("help").onclick = () => $("keys").showModal();
	$("profile").onchange = e => {
		state.profile = +e.target.value;
		state.type = -1;
		state.label = "";
		state.zoom = state.focus = 0;
		state.fn = -1;
		if (state.view === "around") state.view = "graph";
		build();
		changed();
	};
	$("type").onchange = e => {
		state.type = +e.target.value;
		build();
		changed();
	};
	$("label").onchange = e => {
		state.label = e.target.value;
		state.zoom = state.focus = 0;
		build();
		changed();
	};
	$("least").onchange = e => {
		state.least = Math.min(50, Math.max(0, +e.target.value || 0));
		changed();
	};
	let typing;
	$("search").oninput = e => {
		clearTimeout(typing);
		typing = setTimeout(() => {
			state.search = e.target.value;
			find();
			changed();
		}, 120);
	};
	$("search").onkeydown = e => {
		if (e.key === "Escape" || e.key === "Enter") canvas.focus();
	};

	function next(step) {
		if (!matches) return;
		for (let k = 1; k <= tree.n; k++) {
			const i = (state.focus + step * k + tree.n * 2) % tree.n;
			if (i && matches[tree.name[i]]) {
				state.focus = i;
				state.zoom = i;
				return changed();
			}
		}
	}
	function sibling(step) {
		const up = tree.parent[state.focus];
		if (up < 0) return;
		const list = tree.kids.subarray(tree.first[up], tree.first[up + 1]),
			at = list.indexOf(state.focus) + step;
		if (at >= 0 && at < list.length && tree.width[list[at]] > 0) state.focus = list[at];
	}
	function inwards() {
		const c = tree.first[state.focus];
		if (c < tree.first[state.focus + 1] && tree.width[tree.kids[c]] > 0) state.focus = tree.kids[c];
	}
	function outwards() {
		if (state.focus) state.focus = tree.parent[state.focus];
		if (state.zoom && tree.depth[state.focus] < tree.depth[state.zoom]) state.zoom = state.focus;
	}
	document.addEventListener("keydown", e => {
		if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open || /^(INPUT|SELECT)$/.test(e.target.tagName))
			return;
		if (!tree || canvas.parentElement.closest("[hidden]")) return;
		const onGraph = e.target === canvas;
		const keys = {
			"/": () => $("search").focus(),
			"?": () => $("keys").showModal(),
			t: () => $("tabled").click(),
			i: () => $("icicle").click(),
			o: () => $("byname").click(),
			m: () => $("sandwich").click(),
			c: copy,
			d: () => $("theme").click(),
			n: () => next(1),
			N: () => next(-1),
			Escape: () => $("reset").click(),
			Backspace: () => {
				if (state.view !== "graph") state.view = "graph";
				else if (state.zoom) state.zoom = tree.parent[state.zoom];
				changed();
			},
		};
		const moves = {
			ArrowUp: state.icicle ? outwards : inwards,
			ArrowDown: state.icicle ? inwards : outwards,
			ArrowLeft: () => sibling(-1),
			ArrowRight: () => sibling(1),
			Home: () => {
				state.focus = state.zoom;
			},
		};
		if (keys[e.key]) {
			e.preventDefault();
			keys[e.key]();
		} else if (onGraph && moves[e.key]) {
			e.preventDefault();
			moves[e.key]();
			draw();
		} else if (onGraph && (e.key === "Enter" || e.key === " ")) {
			e.preventDefault();
			zoom(state.focus);
		}
	});
	canvas.addEventListener("focus", draw);
	canvas.addEventListener("blur", draw);
	addEventListener("resize", draw);
	addEventListener("hashchange", restore);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
	function offer() {
		$("profile").replaceChildren(...data.profiles.map((p, i) => new Option(p.title, i)));
		$("profile").parentElement.hidden = data.profiles.length < 2;
	}
	function pathOf(i) {
		const path = [];
		for (; i > 0; i = tree.parent[i]) path.unshift(tree.names[tree.name[i]]);
		return path;
	}
	function nodeAt(path) {
		let at = 0;
		for (const name of path) {
			const kids = tree.kids.subarray(tree.first[at], tree.first[at + 1]);
			const next = kids.find(k => tree.names[tree.name[k]] === name);
			if (next === undefined) return at;
			at = next;
		}
		return at;
	}
	// Shows other stacks. What is looked at stays the same, as far as it is there.
	function show(next) {
		const first = !data.profiles.length,
			zoomed = first ? [] : pathOf(state.zoom),
			focused = first ? [] : pathOf(state.focus),
			merged = !first && state.fn >= 0 ? tree.names[state.fn] : null;
		data = next;
		if (!data.profiles.length) return;
		offer();
		if (first) return restore();
		state.profile = Math.min(state.profile, data.profiles.length - 1);
		state.zoom = state.focus = 0;
		build();
		state.zoom = nodeAt(zoomed);
		state.focus = nodeAt(focused);
		state.fn = merged === null ? -1 : tree.names.indexOf(merged);
		if (state.fn < 0 && state.view === "around") state.view = "graph";
		controls();
		draw();
	}
	globalThis.flame = {show};
	if (data.profiles.length) {
		offer();
		restore();
	}
	document.documentElement.dataset.ready = "1";
})();
