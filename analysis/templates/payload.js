// What pages contain, unpacked: the forms that analysis/pages/payload.py describes.
"use strict";
const ARRAYS = {
  f8: Float64Array, f4: Float32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array,
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
};

// Everything that stands for an array becomes that array; what stands under "lazily" is read row by row, and under "later" when
// somebody asks for it.
function opened(value, bytes, lazily = false) {
  if (value === null || typeof value !== "object") return value;
  if ("$ints" in value) return shaped(integers(value, bytes), value.shape);
  if ("$bytes" in value) return shaped(anything(value, bytes), value.shape);
  if ("$strung" in value) return outlines({ ...value, a: opened(value.a, bytes), b: opened(value.b, bytes) });
  const kind = ["$text", "$moment", "$of"].find(each => each in value);
  if (kind) {
    const column = new Column(value, kind, bytes);
    return lazily ? column : column.all();
  }
  if ("$rows" in value) {
    const columns = value.$rows.map(column => opened(column, bytes));
    return Array.from(columns[0], (_, place) => columns.map(column => column[place]));
  }
  if (Array.isArray(value)) return lazily || typeof value[0] !== "object" ? value : value.map(each => opened(each, bytes));
  for (const key in value)
    value[key] = key === "later" ? deferred(value[key], bytes) : opened(value[key], bytes, lazily || key === "lazily");
  return value;
}

// An object whose values are unpacked when they are first read.
function deferred(values, bytes) {
  return madeLater(Object.keys(values), name => opened(values[name], bytes));
}

function madeLater(names, make) {
  const made = {};
  for (const name of names)
    Object.defineProperty(made, name, {
      enumerable: true,
      configurable: true,
      get() {
        const value = make(name);
        Object.defineProperty(made, name, { value, enumerable: true });
        return value;
      },
    });
  return made;
}

// Texts that are made when somebody asks: a million of them are more than a browser should hold.
class Column {
  constructor(value, kind, bytes) {
    Object.assign(this, { value, kind, bytes });
  }

  get numbers() { return this._numbers ||= opened(this.value[this.kind === "$of" ? "code" : this.kind], this.bytes); }

  get length() { return this.numbers.length; }

  at(row) {
    if (this.kind === "$of") return this.value.$of[this.numbers[row]];
    if (this.kind === "$text") return String(this.numbers[row]);
    return row in this.value.rest ? this.value.rest[row] : clock(this.numbers[row]);
  }

  all() { return Array.from(this.numbers, (_, row) => this.at(row)); }
}

// A time of a run as cluster_sim/amounts.py writes it from ten minutes on.
function clock(time) {
  const two = value => String(Math.floor(value)).padStart(2, "0"), day = Math.floor(time / DAY);
  const rest = `${two(time / 3600 % 24)}:${two(time / 60 % 60)}:${two(time % 60)}`;
  return day ? `${day.toLocaleString("en")} d ${rest}` : rest;
}

function integers({ $ints: type, places, at, count, wide }, bytes) {
  const found = new ARRAYS[type](count), unit = 10 ** places;
  let last = 0;
  if (wide < 4) {
    const second = at + count, third = second + count;
    for (let i = 0; i < count; i++) {
      let folded = bytes[at + i];
      if (wide > 1) folded |= bytes[second + i] << 8;
      if (wide > 2) folded |= bytes[third + i] << 16;
      last += (folded >>> 1) ^ -(folded & 1);
      found[i] = last / unit;
    }
    return found;
  }
  for (let i = 0; i < count; i++) {
    let folded = 0;  // up to 53 bits: no operators of bits
    for (let plane = wide - 1; plane >= 0; plane--) folded = 256 * folded + bytes[at + plane * count + i];
    last += folded % 2 ? -(folded + 1) / 2 : folded / 2;
    found[i] = last / unit;
  }
  return found;
}

function anything({ $bytes: type, at, count, wide }, bytes) {
  const raw = new Uint8Array(count * wide);
  for (let plane = 0; plane < wide; plane++) {
    let last = 0;
    for (let i = 0; i < count; i++) raw[i * wide + plane] = last ^= bytes[at + plane * count + i];
  }
  return new ARRAYS[type](raw.buffer);
}

function outlines({ $strung: order, type, a, b }) {
  const count = a.length, found = new ARRAYS[type](6 * count);
  for (let i = 0; i < count; i++) {
    for (let corner = 0; corner < 5; corner++) found[5 * i + corner] = (order[corner] === "a" ? a : b)[i];
    found[6 * count - 1 - i] = a[i];
  }
  return found;
}

function shaped(values, shape) {
  if (!shape) return values;
  const [rows, columns] = String(shape).split(",").map(Number);
  return Array.from({ length: rows }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
}
