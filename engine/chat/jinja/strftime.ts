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
  F: (date) => formatTime(date, "%Y-%m-%d"),
  H: (date) => two(date.getHours()),
  I: (date) => two((date.getHours() + 11) % 12 + 1),
  j: (date) => String(dayOfYear(date)).padStart(3, "0"),
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

/** A time in the format of Python's `datetime.strftime`; `%-d` and the like without a leading zero. */
export function formatTime(date: Date, format: string): string {
  return format.replace(/%(-?)([%a-zA-Z])/g, (whole, short, letter) => {
    const field = Object.hasOwn(FIELDS, letter) ? FIELDS[letter](date) : whole;
    return short === "" ? field : field.replace(/^[0 ]+(?=\d)/, "");
  });
}

function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getFullYear(), 0, 0);
  return Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - start) / 86_400_000,
  );
}
