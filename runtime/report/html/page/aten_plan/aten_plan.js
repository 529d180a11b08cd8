// The page of a plan for a traced model.

function aboveText() {
  return significant(100 * Math.max(stepUs / data.lower_bound - 1, 0), 2) + " %";
}

const isProved = data.has_plan && (data.status === "optimal" || stepUs <= data.lower_bound * (1 + 1e-9));

function verdict() {
  if (!data.has_plan) return ["bad", "No plan"];
  if (isProved) return ["good", "Proved optimal"];
  if (data.lower_bound > 0) return ["fair", `At most ${aboveText()} above the optimum`];
  return ["fair", "No bound proved"];
}

function leadText() {
  const share = formatShare(exposedUs, stepUs).replace("%", " %");
  const memory = data.memory_limit === null ? "" : ` of ${formatBytes(data.memory_limit)}`;
  const proof = isProved ? "proved: no plan takes less time" : data.lower_bound > 0 ? `at most ${aboveText()} above what any plan takes` : "nothing is proved of better plans";
  return `A step takes ${formatMs(stepUs / 1000)} ms, ${share} of it to move tensors, and holds at most ${formatBytes(data.peak)}${memory} per device; ${proof}.`;
}

// Says what takes most of the time and what the memory limit costs.
function limits() {
  const traffic = data.compute - data.arithmetic;
  const share = (us) => formatShare(us, stepUs).replace("%", " %");
  const kinds = [
    [data.arithmetic, "Computing limits the step", "arithmetic"],
    [traffic, "Reading and writing the devices' memory limits the step", "operators that wait for memory or take the least time of a kernel"],
    [exposedUs, "Communication limits the step", "moving tensors"],
  ].sort((a, b) => b[0] - a[0]);
  const others = kinds.slice(1).filter(([us]) => us > 0).map(([us, , label]) => `${share(us)} ${label}`).join(", ");
  let text = `${kinds[0][1]}: ${share(kinds[0][0])} of it is ${kinds[0][2]}${others ? ", " + others : ""}.`;
  if (data.hidden > 0) text += ` Operators hide ${formatMs(data.hidden / 1000)} of ${formatMs(data.moving / 1000)} ms of moving.`;
  if (data.without_limit !== null) {
    const more = stepUs / data.without_limit - 1;
    text += more > 1e-6 ? ` The limit of memory costs ${significant(100 * more, 2)} %: with more memory, a plan takes ${formatMs(data.without_limit / 1000)} ms.` : " The limit of memory binds, but costs no time.";
  }
  return text;
}

function header() {
  const [kind, text] = verdict();
  const subtitle = `${plural(data.nodes, "operator")} on a mesh of ${data.mesh.replaceAll("x", " × ")} ${data.device}, ${plural(data.strategies, "strategy").replace("strategys", "strategies")}, planned in ${formatSeconds(data.planned_s)}`;
  const traffic = data.compute - data.arithmetic;
  return [
    element("h1", {}, data.model || "Plan of a model"),
    element("p", { class: "subtitle" }, subtitle),
    element("p", {}, element("strong", { class: "verdict " + kind }, text)),
    data.has_plan ? element("p", { class: "lead" }, leadText()) : null,
    data.has_plan ? element("p", { class: "limits" }, limits()) : null,
    data.has_plan ? element("div", { class: "total" },
      bar([["arithmetic", data.arithmetic], ["traffic", traffic], ["moving", exposedUs]], stepUs, limits()),
      legend([["arithmetic", `arithmetic ${formatMs(data.arithmetic / 1000)} ms`], ["traffic", `memory traffic ${formatMs(traffic / 1000)} ms`], ["moving", `moving ${formatMs(exposedUs / 1000)} ms`]])) : null,
  ];
}

function failureSection() {
  const needs = data.least_bytes === null || data.memory_limit === null ? null : needBar("Memory of a device", data.least_bytes, data.memory_limit, data.memory_limit);
  return section("failure", "Why there is no plan", element("p", { class: "message" }, data.outcome), needs);
}

showPage(data.model || "Plan of a model", header(), data.has_plan ? [modulesSection(), memorySection(), movesSection()] : [failureSection()]);
