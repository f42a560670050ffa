import { element } from "../dom.js";

/** Where links may lead. */
const SCHEMES = ["http:", "https:", "mailto:"];

/**
 * A link that opens in a new tab without a referrer; plain text where its target is not allowed.
 *
 * @param {string | null} address
 * @param {string | null} title
 */
export function linkTo(address, title) {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !SCHEMES.includes(url.protocol)) return element("span", { title });
  return element("a", {
    href: url.href,
    title: title ?? url.href,
    target: "_blank",
    rel: "noopener noreferrer nofollow",
  });
}
