/**
 * What the page is made of: its own files and the libraries that they use, as they lie in their packages.
 *
 * @module
 */
import domJs from "./client/dom.js" with { type: "text" };
import iconSvg from "./client/icon.svg" with { type: "text" };
import indexHtml from "./client/index.html" with { type: "text" };
import mainJs from "./client/main.js" with { type: "text" };
import answeringAnsweringJs from "./client/answering/answering.js" with { type: "text" };
import conversationConversationJs from "./client/conversation/conversation.js" with {
  type: "text",
};
import conversationMemoryStoreJs from "./client/conversation/memory_store.js" with { type: "text" };
import conversationMessagesJs from "./client/conversation/messages.js" with { type: "text" };
import conversationStoreJs from "./client/conversation/store.js" with { type: "text" };
import conversationTitleJs from "./client/conversation/title.js" with { type: "text" };
import conversationTransferJs from "./client/conversation/transfer.js" with { type: "text" };
import markdownCodeBlockJs from "./client/markdown/code_block.js" with { type: "text" };
import markdownFormulaJs from "./client/markdown/formula.js" with { type: "text" };
import markdownHighlightJs from "./client/markdown/highlight.js" with { type: "text" };
import markdownLinksJs from "./client/markdown/links.js" with { type: "text" };
import markdownLargeTableJs from "./client/markdown/large_table.js" with { type: "text" };
import markdownMathSyntaxJs from "./client/markdown/math_syntax.js" with { type: "text" };
import markdownOpenCodeJs from "./client/markdown/open_code.js" with { type: "text" };
import markdownParserJs from "./client/markdown/parser.js" with { type: "text" };
import markdownStreamRendererJs from "./client/markdown/stream_renderer.js" with { type: "text" };
import markdownToDomJs from "./client/markdown/to_dom.js" with { type: "text" };
import serverAnswerStreamJs from "./client/server/answer_stream.js" with { type: "text" };
import serverCardJs from "./client/server/card.js" with { type: "text" };
import serverKeyJs from "./client/server/key.js" with { type: "text" };
import serverModelsJs from "./client/server/models.js" with { type: "text" };
import serverRequestJs from "./client/server/request.js" with { type: "text" };
import serverExactJsonJs from "./client/server/exact_json.js" with { type: "text" };
import serverServedToolsJs from "./client/server/served_tools.js" with { type: "text" };
import settingsRequestFieldsJs from "./client/settings/request_fields.js" with { type: "text" };
import settingsSettingsJs from "./client/settings/settings.js" with { type: "text" };
import styleBaseCss from "./client/style/base.css" with { type: "text" };
import styleLayoutCss from "./client/style/layout.css" with { type: "text" };
import styleMarkdownCss from "./client/style/markdown.css" with { type: "text" };
import styleMessagesCss from "./client/style/messages.css" with { type: "text" };
import stylePanelsCss from "./client/style/panels.css" with { type: "text" };
import viewCallsViewJs from "./client/view/calls_view.js" with { type: "text" };
import viewCardViewJs from "./client/view/card_view.js" with { type: "text" };
import viewChartJs from "./client/view/chart.js" with { type: "text" };
import viewChatJs from "./client/view/chat.js" with { type: "text" };
import viewComposerJs from "./client/view/composer.js" with { type: "text" };
import viewConversationListJs from "./client/view/conversation_list.js" with { type: "text" };
import viewCopyJs from "./client/view/copy.js" with { type: "text" };
import viewDrawersJs from "./client/view/drawers.js" with { type: "text" };
import viewEditorJs from "./client/view/editor.js" with { type: "text" };
import viewKeyDialogJs from "./client/view/key_dialog.js" with { type: "text" };
import viewMessageViewJs from "./client/view/message_view.js" with { type: "text" };
import viewModelsMenuJs from "./client/view/models_menu.js" with { type: "text" };
import viewNoticesJs from "./client/view/notices.js" with { type: "text" };
import viewScrollingJs from "./client/view/scrolling.js" with { type: "text" };
import viewServedCallJs from "./client/view/served_call.js" with { type: "text" };
import viewSettingsPanelJs from "./client/view/settings_panel.js" with { type: "text" };
import viewTextBoxJs from "./client/view/text_box.js" with { type: "text" };
import viewToolEditorJs from "./client/view/tool_editor.js" with { type: "text" };
import viewTranscriptJs from "./client/view/transcript.js" with { type: "text" };
import viewTransferButtonsJs from "./client/view/transfer_buttons.js" with { type: "text" };
import librariesEventsourceParserJs from "eventsource-parser" with { type: "text" };
import librariesHighlightJs from "@highlightjs/cdn-assets/es/highlight.min.js" with {
  type: "text",
};
import librariesIdbJs from "idb" with { type: "text" };
import librariesMarkdownItJs from "markdown-it/browser" with { type: "text" };
import librariesTemmlCss from "temml/dist/Temml-Local.css" with { type: "text" };
import librariesTemmlWoff2 from "temml/dist/Temml.woff2" with { type: "bytes" };
import librariesTemmlJs from "temml/dist/temml.mjs" with { type: "text" };

/** A file of the page. */
export interface PageFile {
  readonly content: string | Uint8Array<ArrayBuffer>;
  /** Its Content-Type. */
  readonly type: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
};

const CONTENTS: Readonly<Record<string, PageFile["content"]>> = {
  "dom.js": domJs,
  "icon.svg": iconSvg,
  "index.html": indexHtml,
  "main.js": mainJs,
  "answering/answering.js": answeringAnsweringJs,
  "conversation/conversation.js": conversationConversationJs,
  "conversation/memory_store.js": conversationMemoryStoreJs,
  "conversation/messages.js": conversationMessagesJs,
  "conversation/store.js": conversationStoreJs,
  "conversation/title.js": conversationTitleJs,
  "conversation/transfer.js": conversationTransferJs,
  "markdown/code_block.js": markdownCodeBlockJs,
  "markdown/formula.js": markdownFormulaJs,
  "markdown/highlight.js": markdownHighlightJs,
  "markdown/links.js": markdownLinksJs,
  "markdown/large_table.js": markdownLargeTableJs,
  "markdown/math_syntax.js": markdownMathSyntaxJs,
  "markdown/open_code.js": markdownOpenCodeJs,
  "markdown/parser.js": markdownParserJs,
  "markdown/stream_renderer.js": markdownStreamRendererJs,
  "markdown/to_dom.js": markdownToDomJs,
  "server/answer_stream.js": serverAnswerStreamJs,
  "server/card.js": serverCardJs,
  "server/key.js": serverKeyJs,
  "server/models.js": serverModelsJs,
  "server/request.js": serverRequestJs,
  "server/exact_json.js": serverExactJsonJs,
  "server/served_tools.js": serverServedToolsJs,
  "settings/request_fields.js": settingsRequestFieldsJs,
  "settings/settings.js": settingsSettingsJs,
  "style/base.css": styleBaseCss,
  "style/layout.css": styleLayoutCss,
  "style/markdown.css": styleMarkdownCss,
  "style/messages.css": styleMessagesCss,
  "style/panels.css": stylePanelsCss,
  "view/calls_view.js": viewCallsViewJs,
  "view/card_view.js": viewCardViewJs,
  "view/chart.js": viewChartJs,
  "view/chat.js": viewChatJs,
  "view/composer.js": viewComposerJs,
  "view/conversation_list.js": viewConversationListJs,
  "view/copy.js": viewCopyJs,
  "view/drawers.js": viewDrawersJs,
  "view/editor.js": viewEditorJs,
  "view/key_dialog.js": viewKeyDialogJs,
  "view/message_view.js": viewMessageViewJs,
  "view/models_menu.js": viewModelsMenuJs,
  "view/notices.js": viewNoticesJs,
  "view/scrolling.js": viewScrollingJs,
  "view/served_call.js": viewServedCallJs,
  "view/settings_panel.js": viewSettingsPanelJs,
  "view/text_box.js": viewTextBoxJs,
  "view/tool_editor.js": viewToolEditorJs,
  "view/transcript.js": viewTranscriptJs,
  "view/transfer_buttons.js": viewTransferButtonsJs,
  "libraries/eventsource-parser.js": librariesEventsourceParserJs,
  "libraries/highlight.js": librariesHighlightJs,
  "libraries/idb.js": librariesIdbJs,
  "libraries/markdown-it.js": librariesMarkdownItJs,
  "libraries/temml.css": librariesTemmlCss,
  "libraries/Temml.woff2": librariesTemmlWoff2,
  "libraries/temml.js": librariesTemmlJs,
};

/** By their names, relative to the folder. */
export const FILES: ReadonlyMap<string, PageFile> = new Map(
  Object.entries(CONTENTS).map(([name, content]) => [
    name,
    { content, type: TYPES[name.slice(name.lastIndexOf(".") + 1)] },
  ]),
);
