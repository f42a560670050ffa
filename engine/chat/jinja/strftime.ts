const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];

const two = (value: number) => String(value).padStart(2, "0");

/** What each letter after `%` stands for; names are English, as in C's locale. */
const FIELDS: Readonly<Record<string, (date: Date) => string>> = {
  "%": () => "%",
  a: (date) => DAYS[date.getDay()].slice(0, 3),
  A: (date) => DAYS[date.getDay()],
  b: (date) => MONTHS[date.getMonth()].slice(0, 3),
  B: (date) => MONTHS[date.getMonth()],
  d: (date) => two(date.getDate()),
  e: (date) => String(date.getDate()).padStart(2),
  c: (date) => formatTime(date, "%a %b %e %H:%M:%S %Y"),
  C: (date) => two(Math.floor(date.getFullYear() / 100)),
  D: (date) => formatTime(date, "%m/%d/%y"),
  f: (date) => String(date.getMilliseconds()).padStart(3, "0") + "000",
  g: (date) => two(isoWeek(date)[0] % 100),
  G: (date) => String(isoWeek(date)[0]),
  h: (date) => MONTHS[date.getMonth()].slice(0, 3),
  F: (date) => formatTime(date, "%Y-%m-%d"),
  H: (date) => two(date.getHours()),
  I: (date) => two((date.getHours() + 11) % 12 + 1),
  j: (date) => String(dayOfYear(date)).padStart(3, "0"),
  k: (date) => String(date.getHours()).padStart(2),
  l: (date) => String((date.getHours() + 11) % 12 + 1).padStart(2),
  n: () => "\n",
  P: (date) => date.getHours() < 12 ? "am" : "pm",
  r: (date) => formatTime(date, "%I:%M:%S %p"),
  R: (date) => formatTime(date, "%H:%M"),
  s: (date) => String(Math.floor(date.getTime() / 1000)),
  t: () => "\t",
  U: (date) => two(Math.floor((dayOfYear(date) + 6 - date.getDay()) / 7)),
  V: (date) => two(isoWeek(date)[1]),
  W: (date) => two(Math.floor((dayOfYear(date) + 6 - (date.getDay() + 6) % 7) / 7)),
  x: (date) => formatTime(date, "%m/%d/%y"),
  X: (date) => formatTime(date, "%H:%M:%S"),
  m: (date) => two(date.getMonth() + 1),
  M: (date) => two(date.getMinutes()),
  p: (date) => date.getHours() < 12 ? "AM" : "PM",
  S: (date) => two(date.getSeconds()),
  T: (date) => formatTime(date, "%H:%M:%S"),
  u: (date) => String(date.getDay() || 7),
  w: (date) => String(date.getDay()),
  y: (date) => two(date.getFullYear() % 100),
  Y: (date) => String(date.getFullYear()),
  Z: () => "",
  z: () => "",
};

/**
 * A time in the format of Python's `datetime.strftime`: `%-d` and the like without a leading zero, `%_d` with a space in
 * its place, `%^a` in large letters.
 */
export function formatTime(date: Date, format: string): string {
  return format.replace(/%([-_0^#]?)([%a-zA-Z])/g, (whole, flag, letter) => {
    if (!Object.hasOwn(FIELDS, letter)) return whole;
    const field = FIELDS[letter](date);
    switch (flag) {
      case "-":
        return field.replace(/^[0 ]+(?=\d)/, "");
      case "_":
        return field.replace(/^0+(?=\d)/, (zeros) => " ".repeat(zeros.length));
      case "0":
        return field.replace(/^ +(?=\d)/, (spaces) => "0".repeat(spaces.length));
      case "^":
        return field.toUpperCase();
    }
    return field;
  });
}

/** The year and the week of ISO 8601: the first has the year's first Thursday. */
function isoWeek(date: Date): [year: number, week: number] {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate());
  thursday.setDate(thursday.getDate() + 4 - (date.getDay() || 7));
  return [thursday.getFullYear(), Math.ceil(dayOfYear(thursday) / 7)];
}

function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getFullYear(), 0, 0);
  return Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - start) / 86_400_000,
  );
}
