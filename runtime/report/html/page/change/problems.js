// The page of a difference between two problems.

const difference = data.answer ?? { ...data, differences: data.differences.map(([where, from, to]) => ({ where, from, to })) };

function factsSection() {
  if (difference.differences.length === 0) return null;
  const rows = difference.differences.map(({ where, from, to }) => ({ where, from: from ?? "default", to: to ?? "default" }));
  const columns = [["where", "Where"], ["from", "Before"], ["to", "After"]].map(([key, label]) => ({ key, label, value: (row) => row[key], cell: (row) => breakable(row[key]) }));
  const list = new List({ columns, rows, sort: "where", ascending: true, page: 50, noun: "value", caption: "Values that differ" });
  const finder = new Finder(list, { textOf: (row) => `${row.where} ${row.from} ${row.to}`, hint: "Search: a place or a value", state: "find", csv: ["differences", csvColumns(columns)] });
  return section("differences", "Values that differ", finder.node, list.node);
}

function namesSection(id, title, names) {
  if (names.length === 0) return null;
  const columns = [{ key: "name", label: "Table", value: (name) => name, cell: (name) => name }];
  return section(id, title, new List({ columns, rows: names, sort: "name", ascending: true, page: 30, noun: "table", caption: title }).node);
}

function showDifference() {
  const parts = [[difference.differences.length, "value differs", "values differ"], [difference.tables_added.length, "table is new", "tables are new"], [difference.tables_removed.length, "table is gone", "tables are gone"]]
    .filter(([count]) => count > 0).map(([count, one, many]) => `${formatCount(count)} ${count === 1 ? one : many}`);
  const search = difference.search_differs ? " What compat mode follows differs, too: proposers, partitioner or an order." : "";
  showPage("Two problems", [element("h1", {}, "Two problems"),
    element("p", { class: "lead" }, parts.length === 0 ? "Every plan of one is a plan of the other, at the same cost." + search : parts.join(", ") + "." + search)],
  [factsSection(), namesSection("added", "New tables", difference.tables_added), namesSection("removed", "Tables that are gone", difference.tables_removed)]);
}

showDifference();
