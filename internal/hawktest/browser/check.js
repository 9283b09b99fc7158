// This expression lists, in words, what does not hold of the page as it is shown now.
(() => {
	const out = [], seen = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true});
	const name = e => e.tagName + (e.id ? "#" + e.id : "") + " " + e.textContent.trim().slice(0, 40);
	const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
	const rgba = c => {
		pen.clearRect(0, 0, 1, 1);
		pen.fillStyle = c;
		pen.fillRect(0, 0, 1, 1);
		return pen.getImageData(0, 0, 1, 1).data;
	};
	const light = c => [0, 1, 2].reduce((sum, i) => {
		const v = c[i] / 255;
		return sum + [0.2126, 0.7152, 0.0722][i] * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	}, 0);
	const ground = e => {
		for (; e; e = e.parentElement) {
			const c = rgba(getComputedStyle(e).backgroundColor);
			if (c[3] === 255) return c;
		}
		return rgba("Canvas");
	};
	const wide = document.documentElement.scrollWidth;
	if (wide > innerWidth) out.push("wider than the window: " + wide);
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode()); ) {
		const e = n.parentElement;
		if (!n.data.trim() || !seen(e) || e.closest(".unseen,svg,option,:disabled")) continue;
		const a = light(rgba(getComputedStyle(e).color)), b = light(ground(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.push("contrast " + ratio.toFixed(2) + ": " + name(e));
	}
	for (const e of document.querySelectorAll("button,input,select,a[href],[tabindex],canvas,[role=img]")) {
		if (!seen(e)) continue;
		if (e.tabIndex > 0) out.push("out of the order of reading: " + name(e));
		const inside = e.matches("button,a") ? e.textContent : "";
		const label = e.ariaLabel || e.labels?.[0]?.textContent || e.title || inside;
		if (!label?.trim() && !e.closest(".uplot")) out.push("without a name: " + name(e));
	}
	const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
	if (new Set(ids).size !== ids.length) out.push("an id stands twice");
	if (!document.documentElement.lang || !document.title) out.push("no language or no title");
	for (const e of document.querySelectorAll("h1,h2,h3")) if (!e.textContent.trim()) out.push("an empty heading");
	return out;
})()
