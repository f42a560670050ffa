import type { Operation } from "../operation.ts";

/** What the page is made of. */
export const PAGE_OPERATIONS: readonly Operation[] = [
  {
    method: "GET",
    path: "/m40/page/{id}",
    parameters: { id: "The file's name; it may hold slashes." },
    summary: "A file of the page to chat",
    description: "The page itself is at /, for those that take HTML.",
    answer: "text/javascript",
    open: true,
  },
];
