import { byId } from "../dom.js";

/** How near to the end counts as at the end, in pixels. */
const NEAR = 60;

/** Keeps the end of the conversation in view, unless the reader has gone elsewhere. */
export class Scrolling {
  constructor() {
    this.scroller = byId("scroller");
    this.toEnd = byId("to-end");
    this.following = true;
    this.scroller.addEventListener("scroll", () => {
      this.following = this.atEnd();
      this.toEnd.hidden = this.following;
    }, { passive: true });
    this.toEnd.addEventListener("click", () => this.end());
  }

  atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR;
  }

  /** Something was added at the end. */
  follow() {
    if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** Goes to the end, and follows it from now on. */
  end() {
    this.following = true;
    this.toEnd.hidden = true;
    this.follow();
  }
}
