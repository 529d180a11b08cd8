// The sections of the page. Each function returns null if its section would be empty.

function failureSection() {
  if (!data.failure) return null;
  const { type, reason, message } = data.failure;
  return section("failure", "Why there is no plan",
    element("p", { class: "message" }, message),
    element("p", { class: "note" }, "Error ", element("code", {}, type), reason ? [", reason ", element("code", {}, reason)] : []));
}

// Says why nothing fits, and lists the smallest changes that help.
function remediesSection() {
  const { infeasible } = data;
  if (!infeasible) return null;
  const text = (at) => ({ value: (row) => row[at], cell: (row) => row[at] });
  const columns = [
    { key: "change", label: "Change", ...text(0) }, { key: "from", label: "From", number: true, optional: true, ...text(1) },
    { key: "to", label: "To", number: true, ...text(2) }, { key: "less", label: "One step less", optional: true, ...text(3) },
    { key: "flags", label: "Flags", value: (row) => row[4], cell: (row) => element("code", {}, row[4]) },
  ];
  const list = infeasible.remedies.length === 0 ? null : [element("h3", {}, "The smallest single changes that would do"),
    new List({ columns, rows: infeasible.remedies, sort: "change", ascending: true, page: 20, noun: "change", caption: "Changes that would help" }).node,
    element("p", { class: "note" }, "Each was planned and verified.")];
  const vain = infeasible.in_vain.length === 0 ? null : [element("h3", {}, "What does not help"), element("ul", {}, infeasible.in_vain.map((line) => element("li", {}, line)))];
  return section("remedies", infeasible.proved ? "Why nothing fits: proved" : "Why nothing was found",
    infeasible.message.split("\n").map((line) => element("p", { class: "message" }, line)), list, vain);
}

// Shows the least memory that tables need, and the memory that ranks have.
function needsSection() {
  const { needs } = data;
  if (!needs) return null;
  const all = (sizes) => sizes.reduce((sum, size) => sum + size, 0);
  const rows = hasHbm ? [["HBM", needs.hbm, needs.available[0], needs.capacity[0]]] : [];
  rows.push([hasSsd ? "All memory" : hasHbm ? "HBM and DDR" : "Memory", needs.total, all(needs.available), all(needs.capacity)]);
  const note = needs.tables.length === 0
    ? "Nothing was enumerated: the reservation alone decided."
    : "Each need is the least of any option of each table; tables that need less HBM may need more memory altogether.";
  return section("needs", "What tables need, and what ranks have",
    rows.map(([name, need, available, capacity]) => needBar(name, needs.tables.length > 0 ? need : null, available, capacity)),
    element("p", { class: "note" }, note), needsList());
}

function needsList() {
  if (data.needs.tables.length === 0) return null;
  const of = (table) => data.needs.tables[table.index] ?? [0, 0, true];
  const columns = [
    { key: "name", label: "Table", value: (t) => t.label, cell: (t) => t.label },
    { key: "rows", label: "Rows", number: true, optional: true, value: (t) => t.rows, cell: (t) => formatCount(t.rows) },
    { key: "columns", label: "Columns", number: true, optional: true, value: (t) => t.columns, cell: (t) => formatCount(t.columns) },
    { key: "hbm", label: "HBM at least", number: true, value: (t) => of(t)[0], cell: (t) => formatBytes(of(t)[0]) },
    { key: "total", label: "Memory at least", number: true, value: (t) => of(t)[1], cell: (t) => formatBytes(of(t)[1]) },
    { key: "fits", label: "Fits", value: (t) => of(t)[2], cell: (t) => (of(t)[2] ? "yes" : element("strong", { class: "bad-text" }, "on no rank")) },
  ];
  const list = new List({ columns: columns.filter((column) => hasHbm || column.key !== "hbm"), rows: tables, sort: "total", page: 30, noun: "table", caption: "Tables by what they need" });
  const search = new Finder(list, { textOf: (table) => `${table.label} ${table.type}`, hint: "Search by name", state: "find" });
  return element("div", {}, search.node, list.node);
}

function violationsSection() {
  if (data.violations.length === 0) return null;
  return section("violations", "What the plan breaks", element("ul", {}, data.violations.map((text) => element("li", {}, text))));
}

function kindsSection() {
  const kinds = new Map();
  for (const table of tables.filter((t) => t.placed)) {
    const key = `${table.sharding} ${table.kernel}`;
    const sum = kinds.get(key) ?? {
      sharding: table.sharding,
      kernel: table.kernel,
      tables: 0,
      shards: 0,
      hbm: 0,
      ddr: 0,
      ssd: 0,
      ms: 0
    };
    sum.tables += 1;
    sum.shards += table.numShards;
    for (const key of ['hbm', 'ddr', 'ssd', 'ms'])
      sum[key] += table[key];
    kinds.set(key, sum);
  }
  if (kinds.size === 0) return null;
  const count = (key, label) => ({ key, label, number: true, value: (kind) => kind[key], cell: (kind) => formatCount(kind[key]) });
  const size = (key, label) => ({ key, label, number: true, value: (kind) => kind[key], cell: (kind) => formatBytes(kind[key]) });
  const columns = [
    {
      key: 'sharding',
      label: 'Sharding',
      value: (kind) => kind.sharding,
      cell: (kind) => breakable(kind.sharding)
    },
    {
      key: 'kernel',
      label: 'Kernel',
      value: (kind) => kind.kernel,
      cell: (kind) => breakable(kind.kernel)
    },
    count('tables', 'Tables'),
    {...count('shards', 'Shards'), optional: true},
    size('hbm', 'HBM'),
    {...size('ddr', 'DDR'), optional: true},
    ...(hasSsd ? [{...size('ssd', 'SSD'), optional: true}] : []),
    {
      key: 'ms',
      label: 'ms',
      number: true,
      value: (kind) => kind.ms,
      cell: (kind) => formatMs(kind.ms)
    },
  ];
  const list = new List({ columns, rows: [...kinds.values()], sort: "ms", page: 30, noun: "kind", caption: "Kinds of sharding" });
  return section("kinds", "By kind of sharding", list.node);
}

function searchSection() {
  const { search } = data;
  if (isExplanation && search.proposals === 0) return null;  // the plan was given, not searched
  const unit = search.steps_are === "proposals" ? "proposals" : "steps";
  const facts = element("dl", { class: "facts" },
    fact("Mode", search.mode, search.mode === "compat" ? "decides as TorchRec's planner does" : "searches for the best plan"),
    fact("Proposals", formatCount(search.proposals), `${formatCount(search.plans)} fit`),
    fact("Sharding options", formatCount(search.options)),
    fact("Time", formatSeconds(search.total_s), `${plural(search.threads, "thread")}, ${formatCount(search.work)} steps of work`),
    search.stopped_by ? fact("Stopped by", search.stopped_by.replace("_", " "), data.rating === null ? null : "a longer search may find more") : null);
  if (search.steps.length < 2) return section("search", "The search", facts, traceHint());
  const { frame, logarithmic } = traceChart(search.steps, unit);
  const bounded = search.steps.some((step) => step[2] > 0);
  return section("search", "The search", facts,
    legend([["rating", "Best rating so far"], ...(bounded ? [["bound", "No plan rates below"]] : [])]), frame,
    element("p", { class: "note" }, logarithmic ? `The axis of ${unit} is logarithmic.` : `By ${unit}.`), stepsTable(search.steps, unit));
}

function traceHint() {
  const lacksTrace = data.search.mode === "compat" && data.search.steps.length === 0 && data.rating !== null;
  return lacksTrace ? element("p", { class: "note" }, "Plan with --trace to see how the rating fell, proposal by proposal.") : null;
}

function stepsTable(steps, unit) {
  const rows = steps.map(([work, rating, bound], index) => ({ index, work, rating, bound }));
  const columns = [
    { key: "work", label: unit === "steps" ? "Steps" : "Proposal", number: true, value: (s) => s.index, cell: (s) => formatCount(s.work) },
    { key: "rating", label: "Rating", number: true, value: (s) => s.rating, cell: (s) => formatRating(s.rating) },
    { key: "bound", label: "Bound", number: true, value: (s) => s.bound, cell: (s) => (s.bound > 0 ? formatRating(s.bound) : "–") },
  ];
  const list = new List({ columns, rows, sort: "work", ascending: false, page: 8, noun: "step", caption: "Improvements, the last first" });
  return element("details", {}, element("summary", {}, plural(steps.length, "improvement")), list.node);
}

function memorySection() {
  const { reservation } = data;
  const either = (storage) => (storage ? formatBytes(storage[mainTier]) : "not computed");
  const spread = (part) => {
    const sizes = ranks.map((rank) => memoryOf(part, rank.rank));
    const low = formatBytes(sizes.reduce((a, b) => Math.min(a, b)));
    const high = formatBytes(sizes.reduce((a, b) => Math.max(a, b)));
    return low === high ? low : `${low} to ${high}`;
  };
  const parts = [["capacity", "Capacity"], ["reservation", "Reservation"], ["reserved", "Reserved memory"], ["margin", "Margin"], ["tables", "Tables"], ["free", "Free"]];
  const rows = parts
    .filter(([key]) => !["reserved", "margin"].includes(key) || ranks.some((rank) => memoryOf(key, rank.rank) !== 0))
    .map(([key, label]) => element("tr", {}, element("th", { scope: "row" }, label), element("td", { class: "number" }, spread(key))));
  const percentage = reservation.type === "none" ? "" : `, ${formatShare(reservation.percentage, 1)} of the capacity`;
  return section("memory", `What takes the ${mainTierName} of a rank`,
    element("table", { class: "plain" }, element("tbody", {}, rows)),
    element("p", { class: "note" }, `Reservation: ${reservation.type}${percentage}. Of it, per rank: dense modules ${either(reservation.dense)}, inputs ${either(reservation.inputs)}.`));
}

function constraintsSection() {
  if (data.constraints.length === 0) return null;
  const most = 12;
  const items = data.constraints.map(({ text, tables: ids }) => {
    const names = ids.slice(0, most).map((id) => tables[id].label).join(", ");
    const rest = ids.length > most ? `, and ${plural(ids.length - most, "table")} more` : "";
    return element("li", {}, element("strong", {}, text), ids.length ? `: ${names}${rest}` : "");
  });
  return section("constraints", "Constraints", element("ul", {}, items));
}

// The plans that a replan found, of which no other one beats any in both bytes moved and rating.
function frontList(migration) {
  if (migration.front.length < 2) return null;
  const columns = [
    { key: "moved", label: "Moved", number: true, value: (point) => point.moved_bytes, cell: (point) => formatBytes(point.moved_bytes) },
    { key: "rating", label: "Rating", number: true, value: (point) => point.rating, cell: (point) => formatRating(point.rating) },
    { key: "weight", label: "--migration-weight", number: true, value: (point) => point.weight, cell: (point) => significant(point.weight, 4) },
    { key: "chosen", label: "Plan", value: (point) => point.moved_bytes === migration.moved_bytes, cell: (point) => (point.moved_bytes === migration.moved_bytes ? "this one" : "") },
  ];
  return new List({ columns, rows: migration.front, sort: "moved", ascending: true, page: 30, noun: "plan", caption: "Plans by bytes moved" }).node;
}

// For a replan: what moving costs and gains, compared with moving nothing.
function migrationSection() {
  const { migration } = data;
  if (!migration) return null;
  const gib = migration.moved_bytes / 1024 ** 3;
  const saved = migration.rating_kept === null || data.rating === null ? 0 : Math.max(0, migration.rating_kept - data.rating);
  const facts = [
    migration.rating_before === null ? fact("Rating before", "none", migration.not_kept) : fact("Rating before", formatRating(migration.rating_before), change.added > 0 ? "without new tables" : null),
    migration.rating_kept === null ? null : fact("If everything stayed", formatRating(migration.rating_kept), change.added > 0 ? "with new tables beside it" : null),
    fact("Now", data.rating === null ? "none" : formatRating(data.rating), saved > 0 && gib > 0 ? `${formatRating(saved)} saved, ${formatRating(saved / gib)} per GiB` : null),
    fact("Moved", plural(change.moved, "table"), bytesText(change.moved_bytes)), fact("In place", plural(change.kept, "table")),
    change.added > 0 ? fact("New", plural(change.added, "table"), bytesText(change.placed_bytes)) : null,
    change.removed > 0 ? fact("Dropped", plural(change.removed, "table")) : null,
  ];
  return section("migration", "What moves, and what it is worth", element("dl", { class: "facts" }, facts), frontList(migration));
}

function identitySection() {
  const entries = [["shardwright", data.release], ["Problem", data.problem_hash], ["Plan", data.plan_hash], ["Ranks (SHA-1)", data.ranks_sha1]].filter(([, hash]) => hash);
  const rows = entries.map(([label, hash]) => element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, element("code", {}, hash))));
  if (rows.length === 0) return null;
  return section("identity", "Identity", element("table", { class: "plain" }, element("tbody", {}, rows)),
    element("p", { class: "note" }, "The same problem and plan have the same hashes, on any machine."));
}
