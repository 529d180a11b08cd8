// The page of a sweep over meshes for a traced model: time of a step and memory of a device.

const { answer } = data;
const hasRoles = answer.meshes.some((row) => row.roles);

function rolesText(row) {
  return row.baseline ?? (row.roles ? row.roles.join(", ") : hasRoles ? "free" : "");
}

function nameOfRow(row) {
  return row.mesh.shape.join(" × ") + (hasRoles ? `, ${rolesText(row)}` : "");
}

// Moves that operators hide take no time.
const meshes = answer.meshes.map((row, number) => ({ ...row, redistribute_us: row.hidden_us === undefined ? row.redistribute_us : row.redistribute_us - row.hidden_us, number, name: nameOfRow(row), key: "mesh " + row.mesh.shape.join("x") + (row.roles ? ` ${row.roles.join(",")}` : "") + (row.baseline ? ` ${row.baseline}` : ""), fits: row.objective_us !== undefined }));
const fitting = meshes.filter((mesh) => mesh.fits);
const fastest = fitting[0] ?? null;  // meshes are in ascending order of time
const isFront = (mesh) => mesh.fits && !fitting.some((other) =>
  other.objective_us <= mesh.objective_us && other.peak_bytes <= mesh.peak_bytes && (other.objective_us < mesh.objective_us || other.peak_bytes < mesh.peak_bytes));
const formatUsAsMs = (us) => formatMs(us / 1000);

function proofText(mesh) {
  if (mesh.status === "optimal" || mesh.objective_us <= mesh.lower_bound_us) return "proved optimal";
  return mesh.lower_bound_us > 0 ? `at most ${significant(100 * (mesh.objective_us / mesh.lower_bound_us - 1), 2)} % above the optimum` : "nothing proved";
}

// By collective: what a step spends on moving tensors.
function communicationFacts(mesh) {
  const parts = Object.entries(mesh.communication ?? {}).filter(([, us]) => us >= 50);
  return parts.map(([key, us]) => fact(key.slice(0, -3).replaceAll("_", "-"), formatUsAsMs(us) + " ms", formatShare(us, mesh.objective_us)));
}

// The fastest plan for a program, beside the bound of all plans and the baselines.
function programText() {
  const best = fitting.find((mesh) => mesh.roles && !mesh.baseline);
  if (!best) return "";
  const bound = Math.min(...meshes.filter((mesh) => !mesh.roles && mesh.lower_bound_us > 0).map((mesh) => mesh.lower_bound_us));
  const above = Number.isFinite(bound) ? `, ${significant(100 * (best.objective_us / bound - 1), 2)} % above the bound of all plans` : "";
  const others = fitting.filter((mesh) => mesh.baseline).map((mesh) => `${mesh.baseline} takes ${formatUsAsMs(mesh.objective_us)} ms`);
  return ` The fastest program is ${best.name}: ${formatUsAsMs(best.objective_us)} ms${above}${others.length > 0 ? `; ${others.join(", ")}` : ""}.`;
}

function textOfMesh(mesh) {
  if (!mesh.fits) return `${mesh.name}\n${whyNot(mesh)}`;
  return `${mesh.name}\n${formatUsAsMs(mesh.objective_us)} ms a step, ${proofText(mesh)}\n${formatUsAsMs(mesh.redistribute_us)} ms of it moves tensors\n${formatBytes(mesh.peak_bytes)} per device`;
}

function whyNot(mesh) {
  if (mesh.status !== "infeasible") return "nothing was found in time";
  if (mesh.least_bytes === undefined) return "no plan fits";
  const enough = mesh.enough_bytes > mesh.least_bytes ? `, ${formatBytes(mesh.enough_bytes)} are enough` : "";
  return `no plan: at least ${formatBytes(mesh.least_bytes)} are needed${enough}`;
}

function leadText() {
  if (!fastest) return "Nothing fits on any of these meshes.";
  const least = fitting.reduce((best, mesh) => (mesh.peak_bytes < best.peak_bytes ? mesh : best));
  const equal = fitting.filter((mesh) => mesh.objective_us === fastest.objective_us);
  const others = equal.length > 1 ? ` ${plural(equal.length, "mesh").replace("meshs", "meshes")} are as fast.` : "";
  const memory = least.peak_bytes < fastest.peak_bytes ? ` ${least.name} holds least, ${formatBytes(least.peak_bytes)} per device instead of ${formatBytes(fastest.peak_bytes)}, at ${formatUsAsMs(least.objective_us)} ms.` : "";
  return `The fastest mesh is ${fastest.name}: ${formatUsAsMs(fastest.objective_us)} ms a step, ${formatShare(fastest.redistribute_us, fastest.objective_us)} of it to move tensors.${others}${memory}${programText()}`;
}

const MEASURES = [
  { key: "time", label: "Time of a step in ms", best: "least", value: (m) => m.objective_us ?? null, format: formatUsAsMs },
  { key: "memory", label: "Peak memory of a device", best: "least", value: (m) => m.peak_bytes ?? null, format: formatBytes, isBytes: true },
  { key: "moving", label: "Moving tensors in ms", best: "least", value: (m) => m.redistribute_us ?? null, format: formatUsAsMs },
  { key: "compute", label: "Computing in ms", best: "least", value: (m) => m.compute_us ?? null, format: formatUsAsMs },
  { key: "axes", label: "Axes of the mesh", value: (m) => m.mesh.shape.length, format: formatCount },
];

function meshNodes(mesh) {
  const command = [element("h3", {}, "To look at this mesh"), element("pre", {}, `shardwright operators plan GRAPH --mesh ${mesh.mesh.shape.join("x")}${mesh.roles ? ` --roles ${mesh.roles.join(",")}` : ""} --report model.html`)];
  if (!mesh.fits) return [element("p", { class: "message" }, whyNot(mesh)), command];
  return [
    element("dl", { class: "facts" }, fact("Step", formatUsAsMs(mesh.objective_us) + " ms", proofText(mesh)),
      fact("Peak memory", formatBytes(mesh.peak_bytes), "per device"), fact("Moving", formatUsAsMs(mesh.redistribute_us) + " ms", formatShare(mesh.redistribute_us, mesh.objective_us) + " of the step"), ...communicationFacts(mesh)),
    bar([["held", mesh.compute_us], ["over", mesh.redistribute_us]], mesh.objective_us, textOfMesh(mesh)), legend([["held", "computing"], ["over", "moving tensors"]]), command];
}

function meshesSection(panel) {
  const most = fitting.reduce((us, mesh) => Math.max(us, mesh.objective_us), 0);
  const figure = (key, label, value, format, more = {}) => ({ key, label, number: true, value: (m) => value(m) ?? Infinity, csv: (m) => value(m) ?? "", cell: (m) => (value(m) === undefined ? "–" : format(value(m))), ...more });
  const columns = [
    { key: "mesh", label: "Mesh", value: (m) => m.number, csv: (m) => m.mesh.shape.join("x"), cell: (m) => m.mesh.shape.join(" × ") },
    ...(hasRoles ? [{ key: "roles", label: "Roles", value: rolesText, cell: rolesText }] : []),
    figure("ms", "Step ms", (m) => m.objective_us, formatUsAsMs),
    { key: "time", label: "Time", largestFirst: true, value: (m) => m.objective_us ?? Infinity, cell: (m) => (m.fits ? bar([["held", m.compute_us], ["over", m.redistribute_us]], most, textOfMesh(m)) : "") },
    figure("compute", "Compute ms", (m) => m.compute_us, formatUsAsMs, { optional: true }),
    figure("moving", "Moving ms", (m) => m.redistribute_us, formatUsAsMs),
    figure("memory", "Memory", (m) => m.peak_bytes, formatBytes),
    { key: "proof", label: "Proof", optional: true, value: (m) => m.status, cell: (m) => (m.fits ? proofText(m) : element("span", { class: "bad" }, whyNot(m))) },
  ];
  const list = new List({ columns, rows: meshes, sort: "mesh", ascending: true, page: 40, noun: "row", caption: "Meshes, the fastest first", onOpen: (mesh) => panel.toggle(mesh.key) });
  const finder = new Finder(list, { textOf: (m) => `${m.name} ${m.mesh.shape.join("x")} ${m.fits ? proofText(m) : whyNot(m)}`, hint: "Search: 2x4, proved", state: "find", csv: ["meshes", csvColumns(columns)] });
  return section("meshes", "Meshes", legend([["held", "computing"], ["over", "moving tensors"]]), finder.node, list.node);
}

// A saved answer does not name the model and the device.
function subjectText() {
  const devices = plural(answer.devices, "device");
  return data.device ? `${plural(data.nodes, "operator")} on ${devices} (${data.device})` : devices;
}

function showSweep() {
  const byName = new Map(meshes.map((mesh) => [mesh.key, mesh]));
  const panel = new Panel((name) => byName.has(name) ? { title: byName.get(name).name, nodes: () => meshNodes(byName.get(name)) } : null);
  const scatter = fitting.length === 0 ? null : new Scatter({ rows: meshes, measures: MEASURES, x: "memory", y: "time", title: "Meshes", chosen: isFront, failed: (m) => !m.fits,
    nameOf: (m) => m.name, textOf: textOfMesh, onOpen: (m) => panel.toggle(m.key) });
  panel.onShow = (name) => scatter?.mark(byName.get(name) ?? null);
  showPage(`${data.model || "Model"} on ${plural(answer.devices, "device")}`, [
    element("h1", {}, data.model || "Meshes for a model"),
    element("p", { class: "subtitle" }, `${subjectText()}: ${plural(meshes.length, "way")} to put them on a mesh` + (data.memory_limit ? `, ${formatBytes(data.memory_limit)} per device` : "")),
    element("p", { class: "lead" }, leadText()),
  ], [scatter ? section("chart", "Meshes compared", legend([["on-front", "no other mesh is as fast with as little memory"], ["off-front", "another one is"]]), scatter.node) : null, meshesSection(panel)]);
}

showSweep();
