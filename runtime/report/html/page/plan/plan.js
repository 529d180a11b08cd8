// Puts the page together.

function showPlan() {
  const heat = new HeatMap([
    { label: "time", of: msOfCost, format: (ms) => formatMs(ms) + " ms" },
    { label: mainTierName, of: (cost) => cost[mainTier], format: formatBytes },
  ]);
  const placed = makeTables(heat);
  showPage(data.problem.name || "Sharding plan", header(), [
    failureSection(), needsSection(), violationsSection(), machineSection(placed?.search), ranksSection(), placed?.node, heatSection(heat),
    kindsSection(), searchSection(), migrationSection(), memorySection(), constraintsSection(), identitySection(),
  ]);
  if (heat.rows.length > 0) heat.fit();
  placed?.search.readAddress();
}

showPlan();
