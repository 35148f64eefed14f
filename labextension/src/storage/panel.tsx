/**
 * The data explorer as a Lumino widget, with drag and drop from the file browser.
 */

import '../../style/views.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { IExplorerContext } from './actions.js';
import { copyFromWorkspace, copyToFolder } from './actions.js';
import { Explorer, focusContent } from './view.js';

// The MIME type of paths in drags of JupyterLab's file browser.
const PATHS = 'application/x-jupyter-icontents';
const EVENTS = ['lm-dragenter', 'lm-dragover', 'lm-dragleave', 'lm-drop'];

/** The part of a Lumino drag event used here. */
interface IDrag extends Event {
  readonly mimeData: { hasData(type: string): boolean; getData(type: string): unknown };
  readonly proposedAction: string;
  dropAction: string;
}

export class ExplorerPanel extends ReactWidget {
  /**
   * @param localPath - converts a path of the file browser to one below the server root.
   */
  constructor(
    private readonly context: IExplorerContext,
    private readonly localPath: (path: string) => string
  ) {
    super();
    this.addClass('jp-pai-ExplorerPanel');
    this.node.lang = context.lang;
    // This listener lives as long as the page.
    addEventListener('beforeunload', event => context.model.transfers.isUploading && event.preventDefault());
  }

  handleEvent(event: Event): void {
    const drag = event as IDrag;
    if (!this.context.model.canWrite || !drag.mimeData.hasData(PATHS)) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.node.classList.toggle('jp-mod-dropTarget', event.type === 'lm-dragenter' || event.type === 'lm-dragover');
    if (event.type !== 'lm-dragleave') {
      drag.dropAction = drag.proposedAction;
    }
    if (event.type === 'lm-drop') {
      const paths = drag.mimeData.getData(PATHS) as readonly string[];
      void copyFromWorkspace(
        this.context,
        paths.map(path => this.localPath(path)),
        this.report
      );
    }
  }

  /** Copy workspace files and folders, by paths below the server root, to a folder that the user enters. */
  copyToFolder(paths: readonly string[]): Promise<void> {
    return copyToFolder(this.context, paths, this.report);
  }

  /** Open a folder, with the account of a profile, and focus it. */
  async open(uri: string, profile: string): Promise<void> {
    const { model } = this.context;
    const find = () => model.roots?.find(root => root.uri === uri && root.profile === profile);
    if (!find()) {
      await model.loadRoots();
    }
    const opening = model.open(uri, find());
    this.focusWhenRendered();
    await opening;
  }

  /** Focus the explorer once it is rendered. */
  focusWhenRendered(): void {
    this.isFocusPending = true;
    void this.renderPromise?.then(() => {
      const view = this.node.querySelector<HTMLElement>('.jp-pai-Explorer');
      if (view && this.isFocusPending) {
        this.isFocusPending = false;
        focusContent(view);
      }
    });
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    EVENTS.forEach(name => this.node.addEventListener(name, this));
    if (this.isFocusPending) {
      this.focusWhenRendered();
    }
  }

  protected override onBeforeDetach(message: Message): void {
    EVENTS.forEach(name => this.node.removeEventListener(name, this));
    super.onBeforeDetach(message);
  }

  protected override render(): React.JSX.Element {
    return <Explorer {...this.context} message={this.message} report={this.report} />;
  }

  /** Show a message until the folder or the selection changes. */
  private readonly report = (text: string): void => {
    this.message = text;
    this.update();
    const { model } = this.context;
    const [location, selected] = [model.location?.uri, model.selected];
    const clear = () => {
      if (model.location?.uri !== location || model.selected !== selected) {
        model.changed.disconnect(clear);
        this.message = '';
        this.update();
      }
    };
    model.changed.connect(clear);
  };

  private message = '';
  private isFocusPending = false;
}
