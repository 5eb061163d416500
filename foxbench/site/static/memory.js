// The page around the plot: which series is shown, its table, and the commit that was clicked.
"use strict";

(() => {
  const doc = JSON.parse(document.getElementById("document").textContent);
  const pick = document.getElementById("pick");
  const figure = document.getElementById("figure");
  if (!pick) return;

  const commits = new Map(doc.commits.map((c) => [c.hash, c]));
  const byId = new Map(doc.series.map((s) => [s.id, s]));
  const day = (ms) => new Date(ms).toISOString().slice(0, 10);

  function make(tag, content, className) {
    const node = document.createElement(tag);
    node.textContent = content;
    if (className) node.className = className;
    return node;
  }

  function hashOf(commit) {
    if (!doc.commit_url) return make("code", commit.short, "hash");
    const link = make("a", commit.short, "hash");
    link.href = doc.commit_url + commit.hash;
    return link;
  }

  function fillTable(series) {
    const rows = [...series.points].reverse().map((p) => {
      const commit = commits.get(p.commit);
      const row = document.createElement("tr");
      const first = document.createElement("td");
      first.append(hashOf(commit));
      row.append(first, make("td", day(commit.date_ms)),
        make("td", p.bytes === null ? p.status : foxPlot.mib(p.bytes), "number"),
        make("td", commit.subject));
      return row;
    });
    document.querySelector("#values tbody").replaceChildren(...rows);
  }

  function describe(point) {
    const commit = commits.get(point.commit);
    const figureText = point.bytes === null ? point.status
      : `${foxPlot.mib(point.bytes)} MiB (${point.bytes.toLocaleString("en")} bytes)`;
    document.getElementById("detail").replaceChildren(
      make("strong", figureText), " at ", hashOf(commit), " ", make("span", commit.subject), " ",
      make("span", `${commit.author}, ${day(commit.date_ms)}`, "muted"));
  }

  function show(id, remember) {
    const series = byId.get(id);
    if (!series) return;
    pick.value = id;
    figure.setAttribute("aria-label",
      `${series.label}: ${series.points.length} commits. The table below has the same values.`);
    document.querySelectorAll("[data-row]").forEach((row) =>
      row.classList.toggle("picked", row.dataset.row === id));
    fillTable(series);
    const newest = series.points[series.points.length - 1];
    describe(newest);
    foxPlot.draw(figure, series, doc, commits).then(() => {
      figure.removeAllListeners("plotly_click");
      figure.on("plotly_click", (event) => describe(series.points[Math.round(event.points[0].x)]));
      figure.dataset.series = id;
    });
    if (remember) history.replaceState(null, "", address(series));
  }

  // Ids belong to one publication; a name outlives it and can be sent to a colleague.
  function address(series) {
    return `#series=${encodeURIComponent(`${series.label} on ${series.machine}`)}`;
  }

  // With nothing to report, the step that needs most is the one to look at.
  function largestStep() {
    const steps = doc.series.filter((s) => s.type === "steppeak" && s.current.bytes !== null
      && !s.benchmark.includes("first_step"));
    return steps.reduce((a, b) => (b.current.bytes > a.current.bytes ? b : a), steps[0] ?? doc.series[0]);
  }

  function asked() {
    const named = doc.series.find((s) => address(s) === location.hash);
    const changed = [...doc.regressions, ...doc.improvements].find((c) => c.standing);
    return named ? named.id : changed ? changed.series : largestStep().id;
  }

  pick.addEventListener("change", () => show(pick.value, true));
  document.querySelectorAll("a[data-series]").forEach((link) =>
    link.addEventListener("click", (event) => {
      event.preventDefault();
      show(link.dataset.series, true);
      const heading = document.getElementById("plot");
      heading.focus({ preventScroll: true });
      heading.scrollIntoView({ block: "start" });
    }));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(pick.value, false));
  show(asked(), false);
})();
