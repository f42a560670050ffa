/**
 * Links of Markdown pages to each other, and the paths of files that they name.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { withoutCode } from "./sentences.ts";

/** The links of a page that lead nowhere, a line each: to files that are not there, or to headings that a page lacks. */
export async function deadLinks(root: string, page: string): Promise<string[]> {
  const text = withoutCode(await Deno.readTextFile(join(root, page))).join("\n");
  const faults: string[] = [];
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, heading] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    try {
      const { isFile } = await Deno.stat(join(root, file));
      if (heading === undefined || !isFile) continue;
      if (!headingsOf(await Deno.readTextFile(join(root, file))).has(heading)) {
        faults.push(`${page} links to ${target}: ${file} has no such heading`);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      faults.push(`${page} links to ${target}: there is no ${file}`);
    }
  }
  return faults;
}

/** Inline code that is a path in the checkout: it begins with one of its folders. */
const PATH = /`((?:bench|cli|cuda|deploy|docs|engine|mcp|server|tests|tools)\/[\w./*-]+)`/g;

/** The paths of a page that are not there, a line each; `*` stands for any part of a file's name. */
export async function deadPaths(root: string, page: string): Promise<string[]> {
  const text = withoutCode(await Deno.readTextFile(join(root, page))).join("\n");
  const faults: string[] = [];
  for (const [, path] of text.matchAll(PATH)) {
    // A name that the reader is to put in.
    if (/[A-Z]{2,}/.test(path)) continue;
    if (!await anyFile(root, path)) faults.push(`${page} names ${path}, which is not there`);
  }
  return faults;
}

/** Whether there is a file or folder of that name in a folder; `*` stands for any part of a file's name. */
export async function anyFile(folder: string, name: string): Promise<boolean> {
  const parts = name.replace(/\/$/, "").split("/");
  const escaped = parts[parts.length - 1].replaceAll(/[.+]/g, "\\$&").replaceAll("*", ".*");
  const pattern = new RegExp(`^${escaped}$`);
  try {
    for await (const entry of Deno.readDir(join(folder, ...parts.slice(0, -1)))) {
      if (pattern.test(entry.name)) return true;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return false;
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const line of withoutCode(markdown)) {
    if (!/^#+ /.test(line)) continue;
    const title = line.replace(/^#+ /, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const anchor = title.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let unique = anchor;
    for (let i = 1; anchors.has(unique); i++) unique = `${anchor}-${i}`;
    anchors.add(unique);
  }
  return anchors;
}
