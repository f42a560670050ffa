import { Conversation } from "./conversation/conversation.js";
import { MemoryStore } from "./conversation/memory_store.js";
import { ConversationStore } from "./conversation/store.js";
import { byId } from "./dom.js";
import { servedTools } from "./server/served_tools.js";
import { emptySettings } from "./settings/settings.js";
import { Chat } from "./view/chat.js";
import { ConversationList } from "./view/conversation_list.js";
import { Drawer } from "./view/drawers.js";
import { setUpKeyDialog } from "./view/key_dialog.js";
import { ModelsMenu } from "./view/models_menu.js";
import { SettingsPanel } from "./view/settings_panel.js";
import { transferButtons } from "./view/transfer_buttons.js";
import { CardView } from "./view/card_view.js";

/** @typedef {import("./conversation/conversation.js").ConversationRecord} ConversationRecord */

setUpKeyDialog();
/** @type {ConversationStore | MemoryStore} */
const store = await ConversationStore.open().catch(() => new MemoryStore());
const sidebar = new Drawer(byId("sidebar"), byId("open-sidebar"), true);
const settingsDrawer = new Drawer(byId("settings"), byId("open-settings"), false);
const models = new ModelsMenu((problem) => chat.composer.complain(problem));

const list = new ConversationList({
  open: (id) => void open(id),
  remove: (record) => void remove(record),
});

const chat = new Chat(Conversation.begin(emptySettings()), {
  model: () => models.chosen,
  changed: (conversation) => void keep(conversation),
  showSetting: (field) => {
    settingsDrawer.open();
    document.getElementById(field)?.focus();
  },
  answered: () => void models.refresh(),
});

const settings = new SettingsPanel(chat.conversation.settings, () => {
  // A conversation that nothing was said in is not kept.
  if (chat.conversation.record.messages.length > 0) void keep(chat.conversation);
});
transferButtons(store, {
  imported: () => void showList(),
  complain: (problem) => chat.composer.complain(problem),
});
new CardView().start();

/** @param {Conversation} conversation */
async function keep(conversation) {
  // A reload shows the same conversation again.
  if (conversation === chat.conversation) history.replaceState(null, "", `#${conversation.id}`);
  try {
    await store.put(conversation.record);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    chat.composer.complain(`The browser cannot keep this conversation: ${message}`);
  }
  await showList();
}

async function showList() {
  list.show(await store.all(), chat.conversation.id);
}

/** @param {string} id */
async function open(id) {
  const record = await store.get(id);
  if (record === undefined) return;
  show(new Conversation(record));
}

/** @param {Conversation} conversation */
function show(conversation) {
  chat.open(conversation);
  settings.show(conversation.settings);
  history.replaceState(null, "", `#${conversation.id}`);
  sidebar.closeIfNarrow();
  void showList();
}

/** @param {ConversationRecord} record */
async function remove(record) {
  if (!confirm(`Delete the conversation "${record.title || "Untitled"}"?`)) return;
  await store.delete(record.id);
  if (record.id === chat.conversation.id) begin();
  else await showList();
}

function begin() {
  show(Conversation.begin(chat.conversation.settings));
  chat.composer.focus();
}

byId("new-conversation").addEventListener("click", begin);
byId("close-settings").addEventListener("click", () => settingsDrawer.close());
byId("close-sidebar").addEventListener("click", () => sidebar.close());

const asked = location.hash.slice(1);
if (asked !== "") await open(asked);
await showList();
// On a phone that would have the keyboard cover the conversation.
if (!matchMedia("(pointer: coarse)").matches) chat.composer.focus();
await models.refresh();
await servedTools.refresh();
// What is shown may have calls of them.
chat.refresh();
if (store instanceof MemoryStore) {
  chat.composer.complain(
    "This browser keeps no conversations here: export those that you want to keep.",
  );
}
document.body.dataset.ready = "true";
