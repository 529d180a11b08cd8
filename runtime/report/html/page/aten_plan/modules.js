// The modules as a tree: placements of their tensors, and their costs.

const FIRST_ROWS = 24;  // modules are unfolded up to this number of rows
const MOST_FOUND = 400;  // most rows of a search

const [OPERATORS, FORWARD, BACKWARD, MOVING, MOVES, SENT, PARAMETERS] = [0, 1, 2, 3, 4, 5, 6];

// A row is {kind, name, text, depth, lies, shape, compute, moving, sent, parameters, children(), parent}. Its figures are sums
// over all equal blocks, so that rows add up to their parent.
function moduleRow(module, parent, times) {
  const all = times * module.count;
  const { costs } = module;
  const row = {
    kind: "module", parent, depth: parent ? parent.depth + 1 : 0, name: parent ? module.name : data.model || "The model",
    count: module.count, lies: module.output, shape: "", operators: costs[OPERATORS] * all,
    compute: (costs[FORWARD] + costs[BACKWARD]) * all, forward: costs[FORWARD] * all, backward: costs[BACKWARD] * all,
    moving: costs[MOVING] * all, sent: costs[SENT] * all, parameters: costs[PARAMETERS] * all,
    each: (costs[FORWARD] + costs[BACKWARD] + costs[MOVING]) * times,
  };
  row.path = parent && parent.path ? `${parent.path}.${module.name}` : parent ? module.name : "";
  row.children = once(() => [
    ...module.tensors.map((tensor) => tensorRow(tensor, row, all)),
    ...module.modules.map((inner) => moduleRow(inner, row, all)),
    ...operatorsRows(module, row, all),
  ]);
  return row;
}

function once(make) {
  let made = null;
  return () => (made ??= make());
}

function tensorRow([name, role, shape, lies, bytes], parent, times) {
  return { kind: "tensor", parent, depth: parent.depth + 1, name, role, lies, shape, parameters: bytes * times,
    path: parent.path ? `${parent.path}.${name}` : name, children: () => [] };
}

// If a module also has inner modules or tensors, its operators are grouped in one row.
function operatorsRows(module, parent, times) {
  if (module.operators.length === 0) return [];
  const group = { kind: "operators", parent, depth: parent.depth + 1, path: parent.path, lies: "", shape: "",
    name: plural(module.operators.length, "operator") + (module.modules.length > 0 ? " of its own" : ""),
    compute: module.operators.reduce((sum, operator) => sum + operator[4], 0) * times,
    moving: module.operators.reduce((sum, operator) => sum + operator[5], 0) * times };
  group.children = once(() => module.operators.map(([name, backward, shape, lies, us, moving]) => ({
    kind: "operator", parent: group, depth: group.depth + 1, name, role: backward ? "backward" : "forward", lies, shape,
    compute: us * times, moving: moving * times, path: parent.path, children: () => [] })));
  return [group];
}

function textOfRow(row) {
  return `${row.path} ${row.name} ${row.role ?? ""} ${row.lies} ${row.shape}`.toLowerCase();
}

class ModuleTree {
  constructor(model) {
    this.root = moduleRow(model, null, 1);
    this.open = new Set();
    this.words = [];
    this.most = this.root.compute + this.root.moving;
    this.body = element("tbody");
    this.more = element("p", { class: "more" });
    const heads = [["Module", ""], ["Place\u00adment", "placement"], ["Tensor", "shape optional"], ["Time", "time optional"], ["Compute ms", "number"],
      ["Moving ms", "number"], ["Sends", "number optional"], ["Memory", "number"]];
    const box = searchBox("Search: a module, tensor, operator or S0", "Search modules", (words) => {
      this.words = words;
      writeState("find", words.join(" "));
      this.update();
    });
    onState("find", (text) => {
      box.value = text;
      this.words = wordsOf(text);
      this.update();
    });
    this.node = element("div", {}, element("div", { class: "controls" }, box,
      element("button", { type: "button", onclick: () => this.unfoldAll() }, "Unfold modules"),
      element("button", { type: "button", onclick: () => this.foldAll() }, "Fold")),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Modules" },
        element("table", { class: "tree" }, element("caption", {}, "Modules"),
          element("thead", {}, element("tr", {}, heads.map(([label, kind]) => element("th", { scope: "col", class: kind }, label)))), this.body)),
      this.more);
    this.unfold(FIRST_ROWS);
    this.update();
  }

  // Unfolds level by level while there is room.
  unfold(most) {
    let level = [this.root];
    let shown = 1;
    while (level.length > 0) {
      const next = level.flatMap((row) => row.children().filter((child) => child.kind === "module" && child.children().length > 0));
      const rows = level.reduce((sum, row) => sum + row.children().length, 0);
      if (shown + rows > most && shown > 1) return;
      level.forEach((row) => this.open.add(row));
      shown += rows;
      level = next;
    }
  }

  unfoldAll() {
    this.unfold(2000);
    this.update();
  }

  foldAll() {
    this.open = new Set([this.root]);
    this.update();
  }

  // Returns the rows that match the search, with their parents.
  found() {
    const rows = [];
    let matches = 0;
    const visit = (row) => {
      const place = rows.length;
      const text = textOfRow(row);
      const fits = row.kind !== "operators" && this.words.every((word) => text.includes(word));
      if (fits) ++matches;
      if (matches > MOST_FOUND) return fits;
      rows.push(row);
      let inside = false;
      for (const child of row.children()) inside = visit(child) || inside;
      if (!fits && !inside) rows.length = place;
      return fits || inside;
    };
    visit(this.root);
    return { rows, matches };
  }

  unfolded() {
    const rows = [];
    const visit = (row) => {
      rows.push(row);
      if (this.open.has(row)) row.children().forEach(visit);
    };
    visit(this.root);
    return rows;
  }

  update() {
    this.more.replaceChildren();
    let rows;
    if (this.words.length === 0) {
      rows = this.unfolded();
    } else {
      const { rows: shown, matches } = this.found();
      rows = shown;
      if (matches === 0) this.more.append("Nothing matches.");
      if (matches > MOST_FOUND) this.more.append(`… and ${plural(matches - MOST_FOUND, "row")} more; please add a word.`);
    }
    this.body.replaceChildren(...rows.map((row) => this.rowNode(row)));
  }

  rowNode(row) {
    const ms = (us) => (us > 0 ? formatMs(us / 1000) : "");
    const bytes = (size) => (size > 0 ? formatBytes(size) : "");
    const parts = [["arithmetic", row.compute], ["moving", row.moving]];
    const time = row.compute + row.moving;
    const words = `${formatMs((row.compute ?? 0) / 1000)} ms computing, ${formatMs((row.moving ?? 0) / 1000)} ms moving`;
    const node = element("tr", { class: "of-" + row.kind },
      this.nameCell(row),
      element("td", {}, row.lies ? element("code", {}, row.lies) : ""),
      element("td", { class: "shape optional" }, row.shape),
      element("td", { class: "time optional" }, time > 0 && row.kind !== "operator" ? bar(parts, this.most, words) : ""),
      element("td", { class: "number" }, ms(row.compute)),
      element("td", { class: "number" }, ms(row.moving)),
      element("td", { class: "number optional" }, bytes(row.sent)),
      element("td", { class: "number" }, bytes(row.parameters)));
    if (row.kind === "module") {
      describe(node, () => `${row.path || row.name}\nforward ${formatMs(row.forward / 1000)} ms, backward ${formatMs(row.backward / 1000)} ms, moving ${formatMs(row.moving / 1000)} ms` +
        (row.count > 1 ? `\neach of the ${formatCount(row.count)} blocks ${formatMs(row.each / 1000)} ms` : "") + `\n${plural(row.operators, "operator")}`);
    }
    return node;
  }

  nameCell(row) {
    const isOpen = this.open.has(row);
    const canFold = row.children().length > 0 && this.words.length === 0;
    const toggle = () => {
      isOpen ? this.open.delete(row) : this.open.add(row);
      this.update();
      const place = this.unfolded().indexOf(row);
      this.body.children[place].querySelector("button").focus();
    };
    const fold = canFold ? element("button", { type: "button", class: "fold", "aria-expanded": String(isOpen),
      "aria-label": `${isOpen ? "Fold" : "Unfold"} ${row.path || row.name}`, onclick: toggle }, isOpen ? "▾" : "▸") : element("span", { class: "leaf" });
    const badge = row.kind === "module" && row.count > 1 ? element("span", { class: "badge" }, `${formatCount(row.count)} equal blocks`) :
      row.role ? element("span", { class: "badge role" }, row.role) : null;
    const cell = element("th", { scope: "row" }, fold, breakable(row.name), badge);
    cell.style.setProperty("--depth", row.depth);
    return cell;
  }
}

function modulesSection() {
  return section("modules", "Modules",
    element("p", { class: "note" }, "Times are of one step, forward and backward. Blocks that are sharded alike are one row, whose figures are those of all of them. " +
      "A placement has one word for each mesh axis: R replicated, S0 sharded in dimension 0, P sums that are still to be added; of a module, it is that of its last result. “Memory” is that of parameters and buffers on a device." +
      (data.lists_operators ? "" : " There are too many operators to list them.")),
    legend([["arithmetic", "computing"], ["moving", "moving tensors"]]),
    new ModuleTree(data.modules).node);
}
