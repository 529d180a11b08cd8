// Where ranks and boxes are in drawings.

const numRanks = data.mesh.reduce((product, extent) => product * extent, 1);
const isDrawn = data.states[0].boxes.length > 0;

// How much a rank grows by one step along each axis.
const strides = data.mesh.map((_, axis) => data.mesh.slice(axis + 1).reduce((product, extent) => product * extent, 1));

function coordinates(rank) {
  return data.mesh.map((extent, axis) => Math.floor(rank / strides[axis]) % extent);
}

// The dimensions that are drawn, outermost first: {dim, size, across}. The last one lies across, the one before it down; outer
// ones repeat the drawing of the inner ones across or down.
const drawnDims = data.dims.map((dim, i) => {
  const alone = data.dims.length === 1 && data.shape.length > 1;
  const across = alone ? dim === data.shape.length - 1 : (data.dims.length - 1 - i) % 2 === 0;
  return { dim, size: data.shape[dim], across };
});

const TENSOR_WIDTH = 208;
const NEST_GAP = 4;  // around the drawings that an outer dimension repeats

// The size of a drawing of the tensor, with the proportions of a matrix within limits.
const tensorSize = (() => {
  const across = drawnDims.findLast((drawn) => drawn.across);
  const down = drawnDims.findLast((drawn) => !drawn.across);
  if (!down) return { width: TENSOR_WIDTH, height: TENSOR_WIDTH / 3 };
  if (!across) return { width: TENSOR_WIDTH, height: TENSOR_WIDTH };
  return { width: TENSOR_WIDTH, height: TENSOR_WIDTH * Math.min(Math.max(down.size / across.size, 0.6), 1) };
})();

// The rectangle of a box of the data: [begin, end of each drawn dimension, ..., runs of ranks].
function rectOf(box) {
  const rect = { x: 0, y: 0, width: tensorSize.width, height: tensorSize.height };
  drawnDims.forEach(({ size, across }, i) => {
    const [start, extent] = across ? ["x", "width"] : ["y", "height"];
    const whole = rect[extent];
    rect[start] += (whole * box[2 * i]) / size;
    rect[extent] = (whole * (box[2 * i + 1] - box[2 * i])) / size;
    if (drawnDims.slice(i + 1).some((inner) => inner.across === across)) {
      const gap = Math.min(NEST_GAP, rect[extent] / 8);
      rect[start] += gap;
      rect[extent] -= 2 * gap;
    }
  });
  return rect;
}

// The box as a slice: "[0:2048, :]".
function sliceOf(box) {
  const parts = data.shape.map((size, dim) => {
    const i = data.dims.indexOf(dim);
    if (i < 0 || (box[2 * i] === 0 && box[2 * i + 1] === size)) return ":";
    return `${box[2 * i]}:${box[2 * i + 1]}`;
  });
  return `[${parts.join(", ")}]`;
}

function ranksOf(box) {
  const runs = box[box.length - 1];
  const ranks = [];
  for (let i = 0; i < runs.length; i += 2) {
    for (let k = 0; k < runs[i + 1]; ++k) ranks.push(runs[i] + k);
  }
  return ranks;
}

function bytesOf(box) {
  const elements = data.shape.reduce((product, size, dim) => {
    const i = data.dims.indexOf(dim);
    return product * (i < 0 ? size : box[2 * i + 1] - box[2 * i]);
  }, 1);
  return elements * data.item_bytes;
}

// The ranks as texts: copies one by one, as ranges where they follow each other; the terms of one value as "0+8".
function holdersOf(state, box) {
  const ranks = ranksOf(box);
  if (state.partial.length === 0) {
    const runs = box[box.length - 1];
    const texts = [];
    for (let i = 0; i < runs.length; i += 2) texts.push(runs[i + 1] > 2 ? `${runs[i]}–${runs[i] + runs[i + 1] - 1}` : ranks.slice(0, runs[i + 1]).map((_, k) => runs[i] + k).join(", "));
    return texts;
  }
  const sums = new Map();
  for (const rank of ranks) {
    const key = coordinates(rank).filter((_, axis) => !state.partial.includes(axis)).join();
    sums.set(key, [...(sums.get(key) ?? []), rank]);
  }
  return [...sums.values()].map((terms) => terms.join("+"));
}

// The place of a rank in a drawing of the mesh, in squares. The last axis lies across, the one before it down, and so on; a long
// last axis is broken into lines.
const MESH_LINE = 32;

function meshPlaces(square) {
  const axes = data.mesh.map((extent, axis) => ({ extent, axis })).filter(({ extent }) => extent > 1);
  let width = square;
  let height = square;
  const steps = [];
  axes.reverse().forEach(({ extent, axis }, i) => {
    const across = i % 2 === 0;
    const gap = i < 2 ? 2 : 10;
    const line = i === 0 ? Math.min(extent, MESH_LINE) : extent;
    const lines = Math.ceil(extent / line);
    steps.push({ axis, across, line, width: width + gap, height: height + gap });
    if (across) {
      width = line * (width + gap) - gap;
      height = lines * (height + gap) - gap;
    } else {
      height = extent * (height + gap) - gap;
    }
  });
  const placeOf = (rank) => {
    const at = coordinates(rank);
    const place = { x: 0, y: 0 };
    for (const step of steps) {
      const along = at[step.axis];
      if (step.across) {
        place.x += (along % step.line) * step.width;
        place.y += Math.floor(along / step.line) * step.height;
      } else {
        place.y += along * step.height;
      }
    }
    return place;
  };
  return { width, height, placeOf };
}
