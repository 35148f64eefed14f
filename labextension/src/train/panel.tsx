/**
 * The Train form as a Lumino widget: in the side panel, or in a tab of the file page of Notebook 7.
 */

import '../../style/views.css';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Json } from '../api/wire.js';
import type { IProfilesTarget } from '../host/host.js';
import type { IContext } from '../ui/context.js';
import { VisibilityObserver } from '../ui/visibility.js';
import { withField, withRequestField } from './draft.js';
import { TrainForm } from './form.js';
import { TrainPanelModel } from './panelmodel.js';

/** Renders the profiles page. */
type ProfilesView = (actions: {
  readonly target: IProfilesTarget | null;
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
    this.model = new TrainPanelModel(context);
    this.model.follow(this.controller.signal);
    this.visibility = new VisibilityObserver(this.node, isVisible => {
      this.model.isVisible = isVisible;
      this.update();
    });
  }

  readonly model: TrainPanelModel;

  /** Show the form for a path and focus it. */
  async open(path: string, request?: Json): Promise<void> {
    const hadProfiles = this.isOnProfiles;
    this.isOnProfiles = false;
    this.update();
    const opening = this.model.open(path, request);
    this.focusWhenRendered();
    await opening;
    if (hadProfiles) {
      await this.model.refresh();
    }
  }

  /** Show the profiles page instead of the form, and what it is to open. */
  showProfiles(target: IProfilesTarget = {}): void {
    this.isOnProfiles = true;
    this.target = target.profile || target.isNew ? target : null;
    this.update();
    this.focusWhenRendered();
  }

  override dispose(): void {
    this.controller.abort();
    this.visibility.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return this.isOnProfiles ? (
      this.profilesView({
        target: this.target,
        onChosen: name => this.choose(name),
        onClose: () => this.leaveProfiles()
      })
    ) : (
      <TrainForm {...this.context} model={this.model} onProfiles={() => this.showProfiles()} />
    );
  }

  /** Return to the form and load the profiles again. */
  private leaveProfiles(): void {
    this.isOnProfiles = false;
    this.update();
    this.focusWhenRendered();
    void this.model.refresh();
  }

  private choose(profile: string): void {
    const { form } = this.model;
    if (form?.draft) {
      form.change(withRequestField(withField(form.draft, 'profile', profile), 'backend', ''));
    }
    this.leaveProfiles();
  }

  /** Focus the panel once it is rendered, unless one of its fields took the focus in the meantime. */
  private focusWhenRendered(): void {
    void this.renderPromise?.then(() => {
      const view = this.node.querySelector<HTMLElement>('.jp-pai-Train, .jp-pai-Profiles');
      if (!view?.contains(document.activeElement)) {
        view?.focus();
      }
    });
  }

  private isOnProfiles = false;
  private target: IProfilesTarget | null = null;
  private readonly controller = new AbortController();
  private readonly visibility: VisibilityObserver;
}
