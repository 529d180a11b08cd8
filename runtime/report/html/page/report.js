// Puts the page together.

function showAll() {
  const heat = new HeatMap([
    { label: "time", of: msOfCost, format: (ms) => formatMs(ms) + " ms" },
    { label: mainTierName, of: (cost) => cost[mainTier], format: formatBytes },
  ]);
  const sections = [
    failureSection(), needsSection(), violationsSection(), ranksSection(), tablesSection(heat), heatSection(heat),
    kindsSection(), searchSection(), migrationSection(), memorySection(), constraintsSection(), identitySection(),
  ].filter(Boolean);
  document.title = `${data.problem.name || "Sharding plan"} – shardwright`;
  document.getElementById("top").replaceChildren(...header());
  document.getElementById("sections").replaceChildren(...sections);
  document.getElementById("contents").replaceChildren(...sections.map((node) =>
    element("a", { href: "#" + node.id }, node.querySelector("h2").textContent)));
  document.getElementById("colophon").textContent = `shardwright ${data.version}. This page holds all it shows and loads nothing.`;
  if (heat.rows.length > 0) heat.fit();
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
  window.addEventListener("scroll", hideTip, { passive: true });
  document.documentElement.dataset.rendered = String(sections.length);
}

showAll();
