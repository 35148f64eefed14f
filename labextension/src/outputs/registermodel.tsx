/**
 * The registered versions of an output channel, and the form that registers another one.
 */

import * as React from 'react';

import type { IJob } from '../api/wire.js';
import { list, record, string, strings } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { ErrorMessage } from '../ui/errormessage.js';
import { useQuery, useTask } from '../ui/hooks.js';
import { usePolling } from '../ui/polling.js';
import type { FormField, FormValues, IRegistry, IVersion } from './registration.js';
import {
  missingFields,
  parseRegistry,
  parseVersion,
  pollInterval,
  registrationOf,
  versionText
} from './registration.js';

interface IProps extends ITabProps {
  readonly job: IJob;
  readonly channel: string;
  /** True if the channel has no files, which no platform imports. */
  readonly isEmpty: boolean;
}

export function RegisteredModels(props: IProps): React.JSX.Element {
  const { engine, job, channel, isEmpty, trans, isVisible } = props;
  const fetch = async () => parseRegistry(await engine.call('job_models', { job: job.id }));
  const { value: registry, error, poll } = usePolling(fetch, isVisible, pollInterval);
  const [isOpen, setOpen] = React.useState(false);
  const [status, setStatus] = React.useState('');
  const button = React.useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onRegistered = (version: IVersion, notes: readonly string[]) => {
    setStatus([trans.__('Registered as %1.', version.name), ...notes].join(' '));
    close();
    void poll();
  };
  const versions = registry?.versions.filter(version => version.channel === channel) ?? [];
  return (
    <div className="jp-pai-Models">
      {versions.length > 0 && (
        <ul aria-label={trans.__('Registered models')}>
          {versions.map(version => (
            <li key={version.key} className={version.status === 'failed' ? 'jp-pai-Trouble' : undefined}>
              {versionText(version, trans)}
            </li>
          ))}
        </ul>
      )}
      <button
        ref={button}
        type="button"
        className="jp-pai-Button"
        aria-expanded={isOpen}
        disabled={!registry || isEmpty}
        onClick={() => setOpen(!isOpen)}
      >
        {trans.__('Register model…')}
      </button>{' '}
      <span role="status">{status}</span>
      <ErrorMessage error={error} />
      {registry && isOpen && <Form {...props} registry={registry} onRegistered={onRegistered} onCancel={close} />}
    </div>
  );
}

interface IFormProps extends IProps {
  readonly registry: IRegistry;
  readonly onRegistered: (version: IVersion, notes: readonly string[]) => void;
  readonly onCancel: () => void;
}

function Form(props: IFormProps): React.JSX.Element {
  const { engine, job, channel, trans, registry, onRegistered, onCancel } = props;
  const [values, setValues] = React.useState<FormValues>({
    model: '',
    version: '',
    format: '',
    image: '',
    approval: ''
  });
  const images = useImages(props);
  const first = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => first.current?.focus(), []);
  const task = useTask();
  const submit = (event: React.SyntheticEvent) => {
    event.preventDefault();
    task.run(async () => {
      const reply = record(await engine.call('register_model', {}, registrationOf(job.id, channel, values)));
      onRegistered(parseVersion(reply['version']), strings(reply['notes']));
    });
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && !event.nativeEvent.isComposing) {
      event.preventDefault();
      event.stopPropagation(); // Escape would otherwise return to the notebook.
      if (!task.isBusy) {
        onCancel();
      }
    }
  };
  const field = (name: FormField) => ({
    value: values[name],
    isRequired: registry.fields.get(name) === true,
    change: (value: string) => setValues(known => ({ ...known, [name]: value }))
  });
  return (
    <form className="jp-pai-EditForm" onSubmit={submit} onKeyDown={onKeyDown} aria-label={trans.__('Register model')}>
      <label>
        <span>{trans.__('Model')}</span>
        <input
          ref={first}
          required
          value={values.model}
          placeholder={trans.__('a new name, or the name or ID of a model')}
          onChange={event => field('model').change(event.target.value)}
        />
      </label>
      {registry.fields.has('version') && (
        <TextField {...field('version')} title={trans.__('Version')} placeholder={trans.__('the next one')} />
      )}
      {registry.fields.has('format') && (
        <Choice {...field('format')} title={trans.__('Format')} choices={registry.formats} />
      )}
      {registry.fields.has('image') && (
        <TextField {...field('image')} title={trans.__('Serving image')} choices={images} />
      )}
      {registry.fields.has('approval') && (
        <Choice {...field('approval')} title={trans.__('Approval')} choices={registry.approvals} />
      )}
      <p className="jp-pai-Outputs-note">
        {trans.__('The hyperparameters and latest metrics of the job are registered with it.')}
      </p>
      <ErrorMessage error={task.error} />
      <div className="jp-pai-Actions">
        <button
          type="submit"
          className="jp-pai-Button jp-mod-accept"
          disabled={task.isBusy || missingFields(values, registry).length > 0}
        >
          {trans.__('Register')}
        </button>
        <button type="button" className="jp-pai-Button" disabled={task.isBusy} onClick={onCancel}>
          {trans.__('Cancel')}
        </button>
      </div>
    </form>
  );
}

/** Return the names of the platform's images for inference; none if the registry needs none, or they are not loaded. */
function useImages({ engine, registry }: IFormProps): readonly string[] {
  const query = { profile: registry.profile, scope: 'inference' };
  const fetch = async () =>
    list(record(await engine.call('images', query))['images']).map(image => string(record(image)['uri']));
  return useQuery(fetch, registry.profile, registry.fields.has('image'))[0] ?? [];
}

interface IFieldProps {
  readonly title: string;
  readonly value: string;
  readonly isRequired: boolean;
  readonly choices?: readonly string[];
  readonly placeholder?: string;
  readonly change: (value: string) => void;
}

function TextField({ title, value, isRequired, choices = [], placeholder, change }: IFieldProps): React.JSX.Element {
  const id = React.useId();
  return (
    <label>
      <span>{title}</span>
      <input
        value={value}
        required={isRequired}
        placeholder={placeholder}
        list={choices.length > 0 ? id : undefined}
        onChange={event => change(event.target.value)}
      />
      {choices.length > 0 && (
        <datalist id={id}>
          {choices.map(choice => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** A field with a fixed list of values; with free text if there is none. */
function Choice(props: IFieldProps): React.JSX.Element {
  const { title, value, isRequired, choices = [], change } = props;
  if (choices.length === 0) {
    return <TextField {...props} />;
  }
  return (
    <label>
      <span>{title}</span>
      <select
        className="jp-pai-Input"
        value={value}
        required={isRequired}
        onChange={event => change(event.target.value)}
      >
        <option value="" />
        {choices.map(choice => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    </label>
  );
}
