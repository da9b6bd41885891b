// From data to page: unpack everything once, then draw each section.

async function start() {
  const data = await unpackAll(JSON.parse(byId("data").textContent));
  if (data.curve) showChart("curve", "loss", data.curve);
  if (data.depth) data.depth.forEach((chart) => showChart(chart.place, chart.name, chart));
  if (data.heads) headsSection(data);
  const neurons = data.neurons && neuronsSection(data);
  if (data.whole) wholeSection(data, neurons);
  if (data.lens) lensSection(data);
  if (data.film) filmSection(data);
  if (data.live) liveSection(data);
  document.querySelectorAll("a.term").forEach((a) => { a.title = byId(a.hash.slice(1)).nextElementSibling.textContent; });
  followScroll();
  readAddress();
  document.body.dataset.ready = "true";
}

// The section under the eye is marked in the navigation.
function followScroll() {
  const links = new Map(Array.from(document.querySelectorAll("nav.sections a"), (a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (!entry.isIntersecting) return;
    links.forEach((a) => a.removeAttribute("aria-current"));
    const link = links.get(entry.target.id);
    if (!link) return;
    link.setAttribute("aria-current", "true");
    const bar = link.closest(".wide");
    bar?.scrollTo({ left: link.offsetLeft - (bar.clientWidth - link.offsetWidth) / 2 });
  }), { rootMargin: "-25% 0px -65% 0px" });
  document.querySelectorAll("section[id]").forEach((section) => watch.observe(section));
}

start();
