// The page of a difference between two plans.

function leadText() {
  if (changedTables.length === 0) return "No table has another place.";
  const parts = [`${plural(change.moved, "table")} of ${formatCount(change.moved + change.kept + change.removed)} move${change.moved === 1 ? "s" : ""}${change.moved_bytes === null ? "" : ", " + formatBytes(change.moved_bytes)}`];
  if (change.added > 0) parts.push(`${formatCount(change.added)} new`);
  if (change.removed > 0) parts.push(`${formatCount(change.removed)} gone`);
  const rating = known(change.rating) ? differenceOf(change.rating) : null;
  const ms = (value) => formatMs(value) + " ms";
  if (rating !== null) parts.push(rating === 0 ? "the rating stays as it is" : `the rating goes from ${ms(change.rating[0])} to ${ms(change.rating[1])}`);
  return parts.join("; ") + ".";
}

function showChange() {
  const other = change.same_problem === false
    ? element("p", { class: "limits" }, `The plans were made for different problems, which differ in ${change.problem_differs_in}: ratings and memory are not those of one problem.`) : null;
  showPage("Before and after", [element("h1", {}, "Before and after"), element("p", { class: "lead" }, leadText()), other, changeFacts()],
    [changedTablesSection(), changeFlowsSection(null), changedRanksSection()]);
}

showChange();
