// Layers by GPUs before and after a plan of experts: the busier a GPU, the darker.

class GpuLoads {
  // `loads` are [layer][gpu]; `means` are by layer. Colours reach from the mean to `most` times the mean.
  constructor(label, loads, means, most) {
    Object.assign(this, { label, loads, means });
    const gpus = loads[0].length;
    this.left = 40;
    this.cellWidth = (CHART.width - this.left) / gpus;
    this.cellHeight = loads.length > 40 ? 6 : 14;
    const height = this.cellHeight * loads.length;
    this.frame = svg("svg", { viewBox: `0 0 ${CHART.width} ${height}`, class: "matrix", role: "img", "aria-label": `${label}: load of ${plural(gpus, "GPU")} in ${plural(loads.length, "layer")}` });
    this.frame.append(svg("rect", { x: this.left, y: 0, width: CHART.width - this.left, height, class: "nothing" }));
    const gap = this.cellWidth > 6 ? 0.5 : 0;
    loads.forEach((row, layer) => {
      if (layer % Math.ceil(14 / this.cellHeight) === 0) this.frame.append(svg("text", { x: this.left - 6, y: layer * this.cellHeight + Math.min(this.cellHeight, 12), class: "tick end" }, String(layer)));
      row.forEach((load, gpu) => {
        const excess = (load / means[layer] - 1) / Math.max(most - 1, 1e-9);
        if (excess > 0) this.frame.append(svg("rect", { x: this.left + gpu * this.cellWidth, y: layer * this.cellHeight, width: this.cellWidth - gap, height: this.cellHeight - gap, class: "flow", "fill-opacity": Math.min(1, 0.08 + 0.92 * excess).toFixed(3) }));
      });
    });
    describe(this.frame, (event) => this.textAt(event));
    this.node = element("figure", {}, element("figcaption", {}, label), this.frame);
  }

  textAt(event) {
    const box = this.frame.getBoundingClientRect();
    const scale = CHART.width / box.width;
    const gpu = Math.floor(((event.clientX - box.left) * scale - this.left) / this.cellWidth);
    const layer = Math.floor(((event.clientY - box.top) * scale) / this.cellHeight);
    const load = this.loads[layer]?.[gpu];
    return load === undefined ? null : `layer ${layer}, GPU ${gpu}\n${significant(load / this.means[layer], 4)} of the mean`;
  }
}

// Returns null for answers that are no plans of experts.
function gpuLoadsSection({ gpu_load: after, gpu_load_before: before, mean_load: means, old_time: old }) {
  if (!after || !before) return null;
  const most = Math.max(...before.concat(after).map((row, i) => Math.max(...row) / means[i % means.length]));
  const said = `Layers from top to bottom, GPUs from left to right. Faint is the mean of the layer or less, the strongest colour ${significant(most, 4)} times the mean.`;
  return section("gpu-loads", "Load of the GPUs", element("p", { class: "note" }, said),
    new GpuLoads(old === undefined ? "EPLB's placement" : "The old placement", before, means, most).node, new GpuLoads("This plan", after, means, most).node);
}
