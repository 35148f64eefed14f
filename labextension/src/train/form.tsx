/**
 * The Train form: entry point, hyperparameters, files, compute and the submit button.
 */

import * as React from 'react';

import type { IContext } from '../ui/context.js';
import { showWrong } from '../ui/fields/fielderror.js';
import { useKeptFocus } from '../ui/hooks.js';
import { TrainMore } from './advanced.js';
import { TrainCode } from './code.js';
import { TrainCommand } from './command.js';
import { TrainWhere } from './compute/section.js';
import { TrainData } from './data.js';
import { hasRowFaults } from './draft.js';
import { TrainFiles } from './files.js';
import type { Desk } from './formmodel.js';
import { TrainHead } from './header.js';
import { TrainHyper } from './hyperparameters.js';
import type { TrainModel } from './panelmodel.js';
import type { IPart } from './part.js';
import { hasFaults } from './preview.js';
import { TrainSubmit } from './submit.js';

interface IProps extends IContext {
  readonly model: TrainModel;
  /** Show the profiles page. */
  readonly onProfiles?: () => void;
}

export function TrainForm(props: IProps): React.JSX.Element {
  const { model, host, trans } = props;
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  React.useEffect(() => {
    const slot = () => redraw();
    model.changed.connect(slot);
    return () => void model.changed.disconnect(slot);
  }, [model]);
  const { desk } = model;
  const isRefused = desk?.draft === null && hasFaults(desk.wrong);
  const submit = () => {
    if (desk?.draft && (hasRowFaults(desk.draft) || hasHalfChannel(desk, box.current))) {
      showWrong(box.current);
      return;
    }
    void model.submit().then(job => {
      if (!job) {
        requestAnimationFrame(() => showWrong(box.current));
      }
    });
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.defaultPrevented || event.nativeEvent.isComposing) {
      return;
    }
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === 'Escape' && desk && host.show?.(desk.path)) {
      event.preventDefault();
    }
  };
  return (
    <section ref={box} className="jp-pai-Train" tabIndex={-1} aria-label={trans.__('Train')} onKeyDown={press}>
      <div className="jp-pai-Train-body">
        <TrainHead {...props} />
        {desk?.draft ? (
          <Parts {...props} desk={desk} draft={desk.draft} />
        ) : (
          !isRefused && <p>{trans.__('Loading…')}</p>
        )}
      </div>
      <TrainSubmit
        {...props}
        submit={submit}
        showWrong={() => showWrong(box.current)}
        // The focus moves to the form, since the button disappears.
        lookAgain={isRefused ? () => void model.refresh().then(() => desk.draft && box.current?.focus()) : undefined}
      />
    </section>
  );
}

function Parts(props: IPart): React.JSX.Element {
  const { trans, desk } = props;
  // A new key resets fields with unsaved text when another document is shown.
  return (
    <React.Fragment key={desk.id}>
      <section className="jp-pai-Train-part" aria-label={trans.__('Entry point')}>
        <TrainCommand {...props} />
      </section>
      <TrainHyper {...props} />
      <TrainFiles {...props} />
      <TrainWhere {...props} />
      <section className="jp-pai-Train-part" aria-label={trans.__('More settings')}>
        <TrainData {...props} />
        <TrainMore {...props} />
        <TrainCode {...props} />
      </section>
    </React.Fragment>
  );
}

/** Whether a channel is incomplete, which the draft does not contain. */
function hasHalfChannel({ wrong }: Desk, node: Element | null): boolean {
  const isKnown = [...wrong.faults.keys()].some(name => /^(in|out)puts\b/.test(name));
  return !isKnown && node?.querySelector('.jp-pai-ChannelRows [aria-invalid="true"]') != null;
}
