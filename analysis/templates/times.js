// How times are written: as cluster_sim/amounts.py and analysis/figures/time_axis.py write them.
"use strict";
const STEPS = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1].flatMap(power => [power, 2 * power, 5 * power]).concat(
  10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200);
const ROUND = [-6, -5, -4, -3, -2, -1, 0, 1].map(power => 10 ** power).concat(
  60, 600, 3600, 21600, 86400, [0, 1, 2, 3, 4, 5].map(power => 864000 * 10 ** power));
const DAY = 86400;

function roundTicks(start, end, most) {
  const span = (end - start) / most;
  const days = 10 ** Math.floor(Math.log10(Math.max(span, DAY) / DAY));
  const step = STEPS.concat([1, 2, 5, 10].map(times => DAY * days * times)).find(each => each >= span);
  const places = [];
  for (let i = Math.ceil(start / step); i <= Math.floor(end / step); i++) places.push(+(i * step).toFixed(6));
  return { places, texts: places.map((place, number) => tick(place, step, end, number === 0)) };
}

// Ticks of an axis of lengths of time; where it is logarithmic and shows hardly a power of ten, those of one that is not.
function durationTicks(low, high, axis) {
  const log = axis.type === "log", most = axis._id[0] === "y" ? 9 : Math.max(4, Math.min(9, Math.floor(axis._length / 70)));
  if (log) [low, high] = [10 ** low, 10 ** high];
  const round = log ? ROUND.filter(each => low <= each && each <= high) : [];
  const places = round.length > 2 ? round : roundTicks(low, high, most).places, texts = places.map(lasting);
  return { places, texts: new Set(texts).size < texts.length ? places.map(moment) : texts };
}

// Ticks of a logarithmic axis of numbers, whose range is one of powers of ten; where it shows hardly one, those of one that is not.
function logTicks(low, high, most) {
  [low, high] = [10 ** low, 10 ** high];
  const times = (factors, from, to) => Array.from({ length: to - from + 1 }, (_, place) => from + place)
    .flatMap(power => factors.map(each => Number(`${each}e${power}`))).filter(each => low <= each && each <= high);
  const powers = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const kinds = [[1, 2, 5], [1, 3], [1]].map(factors => times(factors, ...powers));
  let places = kinds.find(each => each.length <= most) || kinds[2];
  if (places.length < 3) {
    const span = (high - low) / most, power = Math.floor(Math.log10(span)), step = [1, 2, 5, 10].map(each => each * 10 ** power).find(each => each >= span);
    places = [];
    for (let i = Math.ceil(low / step); i <= Math.floor(high / step); i++) places.push(+(i * step).toPrecision(12));
  }
  return { places, texts: places.map(each => each < 1e-4 ? String(each) : each.toLocaleString("en", { maximumSignificantDigits: 6 })) };
}

function tick(time, step, end, first) {
  const written = value => value.toLocaleString("en", { maximumFractionDigits: 6 });
  if (end <= 600) return `${written(time)} s`;
  if (step >= 60 && end <= 3 * 3600) return `${written(time / 60)} min`;
  const day = Math.floor(time / DAY), rest = time - day * DAY;
  if (rest === 0) return `${written(day)} d`;
  const two = value => String(Math.floor(value)).padStart(2, "0");
  let clock = `${two(rest / 3600)}:${two(rest / 60 % 60)}`;
  if (step < 60) {
    const places = step < 1 ? Math.max(0, Math.ceil(-Math.log10(step))) : 0;
    clock += `:${(rest % 60).toFixed(places).padStart(places ? 3 + places : 2, "0")}`;
  }
  return first && day ? `${clock}<br>${written(day)} d` : clock;
}

// A time of a run.
function moment(time) {
  if (time !== time) return "–";
  if (time < 0) return `−${moment(-time)}`;
  if (time < 600) return `${+time.toFixed(3)} s`;
  const seconds = Math.round(time), two = value => String(Math.floor(value)).padStart(2, "0"), day = Math.floor(seconds / DAY);
  const clock = `${two(seconds / 3600 % 24)}:${two(seconds / 60 % 60)}:${two(seconds % 60)}`;
  return day ? `${day.toLocaleString("en")} d ${clock}` : clock;
}

// A length of time.
function lasting(seconds) {
  if (seconds !== seconds) return "–";
  if (seconds < 0) return `−${lasting(-seconds)}`;
  if (seconds < 59.95) return `${+seconds.toPrecision(3)} s`;
  const counted = Math.round(seconds < 3599.5 ? seconds : seconds / 60);
  const whole = Math.floor(counted / 60), rest = counted % 60;
  if (seconds < 3599.5) return rest ? `${whole} min ${rest} s` : `${whole} min`;
  if (seconds < 86370) return rest ? `${whole} h ${rest} min` : `${whole} h`;
  const day = Math.floor(whole / 24), two = value => String(value).padStart(2, "0");
  return `${day.toLocaleString("en")} d` + (whole % 24 || rest ? ` ${two(whole % 24)}:${two(rest)}` : "");
}
