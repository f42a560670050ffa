export { SideThread } from "./side_thread.ts";
