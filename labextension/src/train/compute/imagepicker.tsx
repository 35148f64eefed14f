/**
 * The image of a job: any URI, or one of the images that the platform lists.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../../api/engine.js';
import { EngineError } from '../../api/engine.js';
import { Trouble } from '../../ui/errormessage.js';
import { useAnswer } from '../../ui/hooks.js';
import type { IImage, IImages, IWanted } from './images.js';
import { choices, parseImages, wanted } from './images.js';

interface IProps {
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
  readonly profile: string;
  readonly backend: string;
  /** The URI of the image; empty for the profile's default. */
  readonly value: string;
  readonly onChange: (uri: string) => void;
  /** Whether the backend lists images (its capability `images`), if known. */
  readonly hasList?: boolean;
  /** The engine's error; empty if there is none. */
  readonly fault?: string;
}

const NONE: IWanted = { text: '', framework: '', version: '', accelerator: '' };
// Number of rows shown at first.
const PAGE = 50;

export function ImagePicker(props: IProps): React.JSX.Element {
  const { trans, profile, backend, value, onChange, hasList = true, fault = '' } = props;
  const id = React.useId();
  const [isOpen, setOpen] = React.useState(false);
  const place = `${backend}/${profile}`;
  const opener = React.useRef<HTMLButtonElement>(null);
  const field = React.useRef<HTMLInputElement>(null);
  // The backend that reported that it lists no images.
  const [without, setWithout] = React.useState('');
  const canOpen = hasList && without !== place;
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  const forgo = () => {
    setWithout(place);
    field.current?.focus(); // The button disappears.
  };
  return (
    <div
      className="jp-pai-Images"
      data-lm-suppress-shortcuts="true"
      onKeyDown={event => {
        if (event.key === 'Escape' && isOpen && canOpen) {
          event.stopPropagation();
          close();
        }
      }}
    >
      <div className="jp-pai-Images-field">
        <input
          ref={field}
          className="jp-pai-Input"
          aria-label={trans.__('Image')}
          placeholder={trans.__('Profile default')}
          spellCheck={false}
          value={value}
          aria-invalid={fault !== ''}
          aria-describedby={fault ? `${id}-fault` : undefined}
          onChange={event => onChange(event.target.value.trim())}
        />
        {canOpen && (
          <button
            ref={opener}
            type="button"
            className="jp-pai-Button"
            aria-expanded={isOpen}
            aria-controls={isOpen ? `${id}-list` : undefined}
            onClick={() => setOpen(!isOpen)}
          >
            {trans.__('Select image…')}
          </button>
        )}
      </div>
      {fault && (
        <span className="jp-pai-Trouble" role="alert" id={`${id}-fault`}>
          {fault}
        </span>
      )}
      {isOpen && canOpen && (
        <section id={`${id}-list`} aria-label={trans.__('Images')}>
          <Listed key={place} {...props} onNone={forgo} />
        </section>
      )}
    </div>
  );
}

function Listed(props: IProps & { readonly onNone: () => void }): React.JSX.Element {
  const { engine, trans, profile, backend, onNone } = props;
  const [scope, setScope] = React.useState('training');
  const [attempt, again] = React.useReducer((n: number) => n + 1, 0);
  const ask = async () => {
    try {
      return { scope, found: parseImages(await engine.call('images', { profile, backend, scope })) };
    } catch (error) {
      if (error instanceof EngineError && error.code === 'Unsupported') {
        onNone();
      }
      throw error;
    }
  };
  const [answer, trouble] = useAnswer(ask, `${scope}/${attempt}`, true);
  const scopes: readonly (readonly [string, string])[] = [
    ['training', trans.__('For training')],
    ['develop', trans.__('For development')],
    ['inference', trans.__('For inference')],
    ['own', trans.__('Workspace images')]
  ];
  return (
    <>
      <select
        className="jp-pai-Input"
        aria-label={trans.__('Image purpose')}
        value={scope}
        onChange={event => setScope(event.target.value)}
      >
        {scopes.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      {trouble ? (
        <>
          <Trouble trouble={trouble} />
          <button type="button" className="jp-pai-Button" onClick={again}>
            {trans.__('Refresh')}
          </button>
        </>
      ) : answer?.scope === scope ? (
        <Filtered {...props} found={answer.found} />
      ) : (
        <p className="jp-pai-Fields-note" role="status">
          {trans.__('Loading…')}
        </p>
      )}
    </>
  );
}

function Filtered(props: IProps & { readonly found: IImages }): React.JSX.Element {
  const { trans, found } = props;
  const [want, setWant] = React.useState(NONE);
  const [most, show] = React.useState(PAGE);
  const look = (change: Partial<IWanted>) => {
    setWant({ ...want, ...change });
    show(PAGE);
  };
  const rows = wanted(found.images, want);
  const filters = [
    ['framework', trans.__('Framework'), trans.__('Any framework')],
    ['version', trans.__('Version'), trans.__('Any version')],
    ['accelerator', trans.__('Accelerator'), trans.__('Any accelerator')]
  ] as const;
  // Only versions of the selected framework are offered.
  const offered = (name: 'framework' | 'version' | 'accelerator') =>
    choices(
      name === 'version' ? wanted(found.images, { ...NONE, framework: want.framework }) : found.images,
      one => one[name]
    );
  return (
    <>
      <div className="jp-pai-Images-filters">
        {filters.map(([name, label, all]) => (
          <select
            key={name}
            className="jp-pai-Input"
            aria-label={label}
            value={want[name]}
            onChange={event =>
              look(
                name === 'framework' ? { framework: event.target.value, version: '' } : { [name]: event.target.value }
              )
            }
          >
            <option value="">{all}</option>
            {offered(name).map(choice => (
              <option key={choice}>{choice}</option>
            ))}
          </select>
        ))}
        <input
          type="search"
          className="jp-pai-Input"
          aria-label={trans.__('Search images')}
          placeholder={trans.__('Search')}
          spellCheck={false}
          value={want.text}
          onChange={event => look({ text: event.target.value })}
        />
      </div>
      <Rows {...props} rows={rows.slice(0, most)} />
      <p className="jp-pai-Fields-note" role="status">
        {rows.length
          ? trans.__('Showing %1 of %2', Math.min(most, rows.length), found.images.length)
          : found.images.length
            ? trans.__('No matching images.')
            : trans.__('No images for this purpose.')}
      </p>
      {most < rows.length && (
        <button type="button" className="jp-pai-Button" onClick={() => show(most + PAGE)}>
          {trans.__('Show more')}
        </button>
      )}
      {found.leftOut > 0 && (
        <p className="jp-pai-Fields-note">{trans.__('Hidden by the administrator: %1', found.leftOut)}</p>
      )}
    </>
  );
}

function Rows({ trans, rows, value, onChange }: IProps & { readonly rows: readonly IImage[] }): React.JSX.Element {
  const group = React.useId();
  const all = [{ uri: '', text: trans.__('Profile default'), facts: '' }, ...rows.map(described)];
  return (
    <div className="jp-pai-Images-rows" role="radiogroup" aria-label={trans.__('Images')}>
      {all.map(({ uri, text, facts }) => (
        <label key={uri} className="jp-pai-Images-row" data-chosen={uri === value} title={uri}>
          <input type="radio" name={group} checked={uri === value} onChange={() => onChange(uri)} />
          <span>
            {text}
            {facts && <span className="jp-pai-Images-facts">{facts}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}

function described(image: IImage): { uri: string; text: string; facts: string } {
  const { uri, name, framework, version, accelerator, python, cuda } = image;
  const facts = [
    [framework, version].filter(Boolean).join(' '),
    accelerator,
    python && `Python ${python}`,
    cuda && `CUDA ${cuda}`
  ];
  return { uri, text: name || uri, facts: facts.filter(Boolean).join(' · ') };
}
