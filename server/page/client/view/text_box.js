/** Makes a box as high as its text, as far as its style lets it. @param {HTMLTextAreaElement} box */
export function fitHeight(box) {
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
}
