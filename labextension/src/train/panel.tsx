/**
 * The Train form as a Lumino widget: in the side panel, or in a tab of the file page of Notebook 7.
 */

import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Json } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import { Attention } from '../ui/visibility.js';
import { withField, withRest } from './draft.js';
import { TrainForm } from './form.js';
import { TrainModel } from './panelmodel.js';

/** Renders the profiles page. */
type ProfilesView = (actions: {
  readonly onChosen: (profile: string) => void;
  readonly onClose: () => void;
}) => React.JSX.Element;

export class TrainPanel extends ReactWidget {
  constructor(
    private readonly context: IContext,
    private readonly profilesView: ProfilesView
  ) {
    super();
    this.addClass('jp-pai-TrainPanel');
    this.node.lang = context.lang;
    this.model = new TrainModel(context);
    this.model.follow(this.life.signal);
    this.attention = new Attention(this.node, isSeen => {
      this.model.isSeen = isSeen;
      this.update();
    });
  }

  readonly model: TrainModel;

  /** Show the form for a path and focus it. */
  async open(path: string, request?: Json): Promise<void> {
    this.isOnProfiles = false;
    this.update();
    const opened = this.model.open(path, request);
    this.enter();
    await opened;
  }

  /** Show the profiles page instead of the form. */
  showProfiles(): void {
    this.isOnProfiles = true;
    this.update();
    this.enter();
  }

  override dispose(): void {
    this.life.abort();
    this.attention.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return this.isOnProfiles ? (
      this.profilesView({ onChosen: name => this.choose(name), onClose: () => this.leaveProfiles() })
    ) : (
      <TrainForm {...this.context} model={this.model} onProfiles={() => this.showProfiles()} />
    );
  }

  /** Return to the form and load the profiles again. */
  private leaveProfiles(): void {
    this.isOnProfiles = false;
    this.update();
    this.enter();
    void this.model.refresh();
  }

  private choose(profile: string): void {
    const { desk } = this.model;
    if (desk?.draft) {
      desk.change(withRest(withField(desk.draft, 'profile', profile), 'backend', ''));
    }
    this.leaveProfiles();
  }

  /** Focus the panel once it is rendered. */
  private enter(): void {
    void this.renderPromise?.then(() =>
      this.node.querySelector<HTMLElement>('.jp-pai-Train, .jp-pai-Profiles')?.focus()
    );
  }

  private isOnProfiles = false;
  private readonly life = new AbortController();
  private readonly attention: Attention;
}
