/**
 * The Train form: entry point, hyperparameters, files, compute and the submit button.
 */

import * as React from 'react';

import type { IOption } from '../api/options.js';
import { record } from '../api/wire.js';
import { CodeFormats } from '../job/recipe.js';
import type { IContext } from '../ui/context.js';
import { useChanges } from '../ui/context.js';
import { focusFirstError } from '../ui/fields/fielderror.js';
import { useKeptFocus, useQuery } from '../ui/hooks.js';
import { OptionActions } from '../ui/messagetext.js';
import { AdvancedSection } from './advanced.js';
import { EntryPointSection } from './command.js';
import { ComputeSection } from './compute/section.js';
import { DataSection } from './data.js';
import { DocumentSection, OwnDocumentHint } from './document.js';
import { hasRowErrors, requestOf, withOption } from './draft.js';
import { CollapsibleSection } from './field.js';
import { TrainFiles } from './files.js';
import type { TrainFormModel } from './formmodel.js';
import { TrainHeader } from './header.js';
import { HyperparametersSection } from './hyperparameters.js';
import type { TrainPanelModel } from './panelmodel.js';
import { hasErrors } from './preview.js';
import type { ISectionProps } from './section.js';
import { SubmitSection } from './submit.js';

interface IProps extends IContext {
  readonly model: TrainPanelModel;
  /** Show the profiles page. */
  readonly onProfiles?: () => void;
}

export function TrainForm(props: IProps): React.JSX.Element {
  const { model, host, trans } = props;
  const box = React.useRef<HTMLElement>(null);
  useKeptFocus(box);
  useChanges(model);
  const { form } = model;
  const isRefused = form?.draft === null && hasErrors(form.errors);
  const submit = (isAnyway = false) => {
    if (form?.draft && (hasRowErrors(form.draft) || hasIncompleteChannel(form, box.current))) {
      focusFirstError(box.current);
      return;
    }
    void model.submit(isAnyway).then(job => {
      if (!job) {
        requestAnimationFrame(() => focusFirstError(box.current));
      }
    });
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.defaultPrevented || event.nativeEvent.isComposing) {
      return;
    }
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === 'Escape' && form && host.show?.(form.path)) {
      event.preventDefault();
    }
  };
  const actionOf = (option: IOption) => {
    const changed = form?.draft && withOption(form.draft, option);
    return changed ? () => form.change(changed) : option.option === 'anyway' ? () => submit(true) : null;
  };
  return (
    <OptionActions.Provider value={{ trans, title: trans.__('Change the form'), actionOf }}>
      <section ref={box} className="jp-pai-Train" tabIndex={-1} aria-label={trans.__('Train')} onKeyDown={onKeyDown}>
        <div className="jp-pai-Train-body">
          <TrainHeader {...props} />
          {form?.draft ? (
            <Sections {...props} form={form} draft={form.draft} />
          ) : (
            !isRefused && <p>{trans.__('Loading…')}</p>
          )}
        </div>
        <SubmitSection
          {...props}
          submit={submit}
          showWrong={() => focusFirstError(box.current)}
          // The focus moves to the form, since the button disappears.
          reload={isRefused ? () => void model.refresh().then(() => form.draft && box.current?.focus()) : undefined}
        />
      </section>
    </OptionActions.Provider>
  );
}

function Sections(props: ISectionProps): React.JSX.Element {
  const { trans, form } = props;
  // A new key resets fields with unsaved text when another document is shown.
  return (
    <React.Fragment key={form.id}>
      <OwnDocumentHint {...props} />
      <section className="jp-pai-Train-part" aria-label={trans.__('Entry point')}>
        <EntryPointSection {...props} />
      </section>
      <HyperparametersSection {...props} />
      <TrainFiles {...props} />
      <ComputeSection {...props} />
      <section className="jp-pai-Train-part" aria-label={trans.__('More settings')}>
        <DataSection {...props} />
        <AdvancedSection {...props} />
        <DocumentSection {...props} />
        <CodeSection {...props} />
      </section>
    </React.Fragment>
  );
}

/** Return whether a channel is incomplete, which the draft does not contain. */
function hasIncompleteChannel({ errors }: TrainFormModel, node: Element | null): boolean {
  const isKnown = [...errors.fields.keys()].some(name => /^(in|out)puts\b/.test(name));
  return !isKnown && node?.querySelector('.jp-pai-ChannelRows [aria-invalid="true"]') != null;
}

export function CodeSection(props: ISectionProps): React.JSX.Element {
  const { trans } = props;
  return (
    <CollapsibleSection title={trans.__('Export as code')} summary={trans.__('cell, command line, Python, JSON')}>
      <Recipe {...props} />
    </CollapsibleSection>
  );
}

function Recipe({ form, draft, engine, host, trans }: ISectionProps): React.JSX.Element {
  const request = requestOf(draft);
  const ask = async () => record(await engine.call('recipe', {}, request));
  const [code, error] = useQuery(ask, JSON.stringify(request), true);
  const isNotebook = form.path.endsWith('.ipynb') && host.insertCell !== undefined;
  const insert = async (cell: string) => {
    if (!(await host.insertCell?.(form.path, cell))) {
      host.notify(trans.__('The notebook is not open.'), 'warning');
    }
  };
  return <CodeFormats trans={trans} code={code} error={error} insert={isNotebook ? insert : undefined} />;
}
