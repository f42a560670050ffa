import { type Operation, operation } from "../operation.ts";

/** What the page is made of. */
export const PAGE_OPERATIONS: readonly Operation[] = [
  operation("GET /m40/page/{id}", "A file of the page to chat", {
    parameters: { id: "The file's name; it may hold slashes." },
    description: "The page itself is at /, for those that take HTML.",
    answer: "text/javascript",
    open: true,
  }),
];
