// One series as a Plotly figure. Plotly reads a small HTML dialect in every text it is given, so
// names of strangers pass through text() first.
"use strict";

const foxPlot = (() => {
  const MIB = 1048576;
  const text = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const mib = (bytes) => (bytes / MIB).toFixed(2);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function bandTraces(series, at) {
    // Two closed outlines in one trace would be joined, so each level has its own.
    const half = series.noise_band.bytes / MIB;
    return series.segments.flatMap((segment) => {
      const left = at.get(segment.first_commit) - 0.5;
      const right = at.get(segment.last_commit) + 0.5;
      const level = segment.level_bytes / MIB;
      return [
        {
          x: [left, right, right, left], y: [level - half, level - half, level + half, level + half],
          mode: "lines", line: { width: 0 }, fill: "toself", fillcolor: colour("--band"),
          hoverinfo: "skip", showlegend: false,
        },
        {
          x: [left, right], y: [level, level], mode: "lines",
          line: { width: 1, dash: "dot", color: colour("--accent") },
          hoverinfo: "skip", showlegend: false,
        },
      ];
    });
  }

  function sampleTrace(series) {
    const x = [], y = [];
    series.points.forEach((p, i) => {
      const samples = p.samples_bytes || [];
      samples.forEach((bytes, k) => {
        x.push(i + (samples.length > 1 ? 0.16 * (k / (samples.length - 1) - 0.5) : 0));
        y.push(bytes / MIB);
      });
    });
    return {
      x, y, mode: "markers", marker: { size: 5, opacity: 0.4, color: colour("--accent") },
      hoverinfo: "skip", showlegend: false,
    };
  }

  function lineTrace(series, commits) {
    return {
      x: series.points.map((_, i) => i),
      y: series.points.map((p) => (p.bytes === null ? null : p.bytes / MIB)),
      text: series.points.map((p) => {
        const c = commits.get(p.commit);
        return `<b>${p.bytes === null ? text(p.status) : mib(p.bytes) + " MiB"}</b><br>` +
          `${text(c.short)} ${text(c.subject.slice(0, 70))}<br>${text(c.author)}`;
      }),
      mode: "lines+markers", line: { width: 2, color: colour("--accent") },
      marker: { size: 7, color: colour("--accent") },
      hovertemplate: "%{text}<extra></extra>", showlegend: false,
    };
  }

  function flagTrace(changes, series, at, worse) {
    const shown = changes.filter((c) => c.series === series.id && c.after_bytes !== null);
    const name = worse ? "--worse" : "--better";
    const y = shown.map((c) => series.points[at.get(c.commit)].bytes / MIB);
    return {
      x: shown.map((c) => at.get(c.commit)), y,
      text: shown.map((c) => `<b>${c.bytes > 0 ? "+" : "−"}${mib(Math.abs(c.bytes))}</b>`),
      textposition: worse ? "top center" : "bottom center",
      textfont: { color: colour(name), size: 13 }, cliponaxis: false,
      mode: "markers+text", hoverinfo: "skip", showlegend: false,
      marker: { symbol: worse ? "triangle-up" : "triangle-down", size: 14, color: colour(name) },
    };
  }

  // No commit of a creep is guilty alone, so its whole way is marked.
  function creepTraces(changes, series, at) {
    return changes.filter((c) => c.series === series.id && c.kind === "creep").map((c) => ({
      x: [at.get(c.good_commit), at.get(c.commit)],
      y: [c.before_bytes / MIB, c.after_bytes / MIB],
      mode: "lines", line: { width: 3, dash: "dash", color: colour(c.bytes > 0 ? "--worse" : "--better") },
      opacity: 0.7, hoverinfo: "skip", showlegend: false,
    }));
  }

  function failedTrace(series) {
    const values = series.points.map((p) => p.bytes).filter((b) => b !== null);
    const low = values.length ? Math.min(...values) / MIB : 0;
    const at = series.points.flatMap((p, i) => (p.status === "failed" ? [i] : []));
    return {
      x: at, y: at.map(() => low), mode: "markers", hoverinfo: "skip", showlegend: false,
      marker: { symbol: "x", size: 10, color: colour("--worse") },
    };
  }

  function yRange(series) {
    // Never so close that noise fills the plot.
    const all = series.points.flatMap((p) =>
      p.bytes === null ? [] : [p.bytes, ...(p.samples_bytes || [])]);
    if (!all.length) return [0, 1];
    const low = Math.min(...all), high = Math.max(...all), half = series.noise_band.bytes;
    const span = Math.max(high - low + 2 * half, 8 * half);
    const middle = (low + high) / 2;
    return [Math.max(0, middle - 0.65 * span) / MIB, (middle + 0.7 * span) / MIB];
  }

  function draw(target, series, doc, commits) {
    const at = new Map(series.points.map((p, i) => [p.commit, i]));
    const every = Math.max(1, Math.ceil(series.points.length / 14));
    const ticks = series.points.map((_, i) => i).filter((i) => i % every === 0);
    const ink = colour("--muted"), rule = colour("--rule");
    const traces = [
      ...bandTraces(series, at), sampleTrace(series), lineTrace(series, commits),
      ...creepTraces([...doc.regressions, ...doc.improvements], series, at),
      flagTrace(doc.regressions, series, at, true), flagTrace(doc.improvements, series, at, false),
      failedTrace(series),
    ];
    const layout = {
      margin: { l: 64, r: 16, t: 16, b: 64 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      hovermode: "closest", dragmode: false,
      hoverlabel: { align: "left", bgcolor: colour("--surface"), bordercolor: rule, font: { color: colour("--ink") } },
      xaxis: {
        tickvals: ticks, ticktext: ticks.map((i) => text(series.points[i].commit.slice(0, 8))),
        range: [-0.6, series.points.length - 0.4], showgrid: false, zeroline: false,
        tickangle: series.points.length > 8 ? -45 : 0, linecolor: rule, showline: true,
        tickfont: { family: "ui-monospace, Menlo, Consolas, monospace", size: 12 },
      },
      yaxis: { title: { text: "MiB" }, range: yRange(series), gridcolor: rule, zeroline: false },
    };
    return Plotly.react(target, traces, layout, { displayModeBar: false, responsive: true });
  }

  return { draw, mib };
})();
