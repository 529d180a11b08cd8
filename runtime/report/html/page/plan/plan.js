// Puts the page together.

function changeSections() {
  return change === null ? [] : [migrationSection(), changedTablesSection(), changeFlowsSection(data.problem.ranks_per_host), changedRanksSection()];
}

function showPlan() {
  const panel = planPanel();
  const heat = new HeatMap([
    { label: "time", of: msOfCost, format: (ms) => formatMs(ms) + " ms" },
    { label: mainTierName, of: (cost) => cost[mainTier], format: formatBytes },
  ], (table) => panel.open("table " + table.label));
  const placed = makeTables(heat, panel);
  const machine = machineSection(placed?.search, panel);
  const whole = [machine, ranksSection(), placed?.node, heatSection(heat)];
  showPage(pageTitle(), header(), [
    failureSection(), remediesSection(), needsSection(), violationsSection(), ...changeSections(), ...(isExplanation ? [placed?.node, machine, ...whole.slice(1, 2), whole[3]] : whole),
    kindsSection(), searchSection(), memorySection(), constraintsSection(), identitySection(),
  ]);
  if (heat.rows.length > 0) heat.fit();
}

showPlan();
