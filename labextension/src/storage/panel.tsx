/**
 * The data explorer as a Lumino widget, with drag and drop from the file browser.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import * as React from 'react';

import type { IExplorer } from './actions.js';
import { bring, put } from './actions.js';
import { Explorer, enter } from './view.js';

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
   * @param local - converts a path of the file browser to one below the server root.
   */
  constructor(
    private readonly explorer: IExplorer,
    private readonly local: (path: string) => string
  ) {
    super();
    this.addClass('jp-pai-ExplorerPanel');
    this.node.lang = explorer.lang;
    // This listener lives as long as the page.
    addEventListener('beforeunload', event => explorer.model.transfers.isUploading && event.preventDefault());
  }

  handleEvent(event: Event): void {
    const drag = event as IDrag;
    if (!this.explorer.model.canWrite || !drag.mimeData.hasData(PATHS)) {
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
      void put(
        this.explorer,
        paths.map(path => this.local(path)),
        this.say
      );
    }
  }

  /** Copy workspace files and folders, by paths below the server root, to a folder that the user enters. */
  bring(paths: readonly string[]): Promise<void> {
    return bring(this.explorer, paths, this.say);
  }

  /** Focus the explorer once it is rendered. */
  enter(): void {
    this.isAwaited = true;
    void this.renderPromise?.then(() => {
      const view = this.node.querySelector<HTMLElement>('.jp-pai-Explorer');
      if (view && this.isAwaited) {
        this.isAwaited = false;
        enter(view);
      }
    });
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    EVENTS.forEach(name => this.node.addEventListener(name, this));
    if (this.isAwaited) {
      this.enter();
    }
  }

  protected override onBeforeDetach(message: Message): void {
    EVENTS.forEach(name => this.node.removeEventListener(name, this));
    super.onBeforeDetach(message);
  }

  protected override render(): React.JSX.Element {
    return <Explorer {...this.explorer} news={this.news} say={this.say} />;
  }

  /** Show a message until the folder or the selection changes. */
  private readonly say = (text: string): void => {
    this.news = text;
    this.update();
    const { model } = this.explorer;
    const [place, selected] = [model.place?.uri, model.selected];
    const forget = () => {
      if (model.place?.uri !== place || model.selected !== selected) {
        model.changed.disconnect(forget);
        this.news = '';
        this.update();
      }
    };
    model.changed.connect(forget);
  };

  private news = '';
  private isAwaited = false;
}
