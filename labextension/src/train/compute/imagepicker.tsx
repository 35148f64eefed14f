/**
 * The image of a job: any URI, or one of the images that the platform lists.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IEngine } from '../../api/engine.js';
import { EngineError } from '../../api/engine.js';
import { ErrorMessage } from '../../ui/errormessage.js';
import { useQuery } from '../../ui/hooks.js';
import type { IImage, IImageFilters, IImages } from './images.js';
import { choices, filterImages, parseImages } from './images.js';
import { MessageText } from '../../ui/messagetext.js';

interface IProps {
  readonly engine: IEngine;
  readonly trans: TranslationBundle;
  readonly profile: string;
  readonly backend: string;
  /** The URI of the image; empty for the profile's default. */
  readonly value: string;
  readonly onChange: (uri: string) => void;
  /** True if the backend lists images (its capability `images`), if known. */
  readonly hasList?: boolean;
  /** The engine's error; empty if there is none. */
  readonly error?: string;
}

const NO_FILTERS: IImageFilters = { text: '', framework: '', version: '', accelerator: '' };
// Number of rows shown at first.
const PAGE = 50;

export function ImagePicker(props: IProps): React.JSX.Element {
  const { trans, profile, backend, value, onChange, hasList = true, error = '' } = props;
  const id = React.useId();
  const [isOpen, setOpen] = React.useState(false);
  const key = `${backend}/${profile}`;
  const opener = React.useRef<HTMLButtonElement>(null);
  const field = React.useRef<HTMLInputElement>(null);
  // The backend that reported that it lists no images.
  const [unsupportedKey, setUnsupportedKey] = React.useState('');
  const canOpen = hasList && unsupportedKey !== key;
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  const hideList = () => {
    setUnsupportedKey(key);
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
          aria-invalid={error !== ''}
          aria-describedby={error ? `${id}-error` : undefined}
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
      {error && (
        <span className="jp-pai-Trouble" role="alert" id={`${id}-error`}>
          <MessageText text={error} />
        </span>
      )}
      {isOpen && canOpen && (
        <section id={`${id}-list`} aria-label={trans.__('Images')}>
          <ImageList key={key} {...props} onNone={hideList} />
        </section>
      )}
    </div>
  );
}

function ImageList(props: IProps & { readonly onNone: () => void }): React.JSX.Element {
  const { engine, trans, profile, backend, onNone } = props;
  const [scope, setScope] = React.useState('training');
  const [attempt, retry] = React.useReducer((n: number) => n + 1, 0);
  const fetch = async () => {
    try {
      return { scope, result: parseImages(await engine.call('images', { profile, backend, scope })) };
    } catch (error) {
      if (error instanceof EngineError && error.code === 'Unsupported') {
        onNone();
      }
      throw error;
    }
  };
  const [response, error] = useQuery(fetch, `${scope}/${attempt}`, true);
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
      {error ? (
        <>
          <ErrorMessage error={error} />
          <button type="button" className="jp-pai-Button" onClick={retry}>
            {trans.__('Refresh')}
          </button>
        </>
      ) : response?.scope === scope ? (
        <FilteredImages {...props} result={response.result} />
      ) : (
        <p className="jp-pai-Fields-note" role="status">
          {trans.__('Loading…')}
        </p>
      )}
    </>
  );
}

function FilteredImages(props: IProps & { readonly result: IImages }): React.JSX.Element {
  const { trans, result } = props;
  const { images, hiddenCount } = result;
  const [filters, setFilters] = React.useState(NO_FILTERS);
  const [limit, setLimit] = React.useState(PAGE);
  const change = (changed: Partial<IImageFilters>) => {
    setFilters({ ...filters, ...changed });
    setLimit(PAGE);
  };
  const rows = filterImages(images, filters);
  return (
    <>
      <Filters {...{ trans, images, filters, change }} />
      <Rows {...props} rows={rows.slice(0, limit)} />
      <p className="jp-pai-Fields-note" role="status">
        {rows.length
          ? trans.__('Showing %1 of %2', Math.min(limit, rows.length), images.length)
          : images.length
            ? trans.__('No matching images.')
            : trans.__('No images for this purpose.')}
      </p>
      {limit < rows.length && (
        <button type="button" className="jp-pai-Button" onClick={() => setLimit(limit + PAGE)}>
          {trans.__('Show more')}
        </button>
      )}
      {hiddenCount > 0 && (
        <p className="jp-pai-Fields-note">{trans.__('Hidden by the administrator: %1', hiddenCount)}</p>
      )}
    </>
  );
}

interface IFiltersProps {
  readonly trans: TranslationBundle;
  readonly images: readonly IImage[];
  readonly filters: IImageFilters;
  readonly change: (changed: Partial<IImageFilters>) => void;
}

function Filters({ trans, images, filters, change }: IFiltersProps): React.JSX.Element {
  const selects = [
    ['framework', trans.__('Framework'), trans.__('Any framework')],
    ['version', trans.__('Version'), trans.__('Any version')],
    ['accelerator', trans.__('Accelerator'), trans.__('Any accelerator')]
  ] as const;
  // Only versions of the selected framework are offered.
  const candidates = (name: (typeof selects)[number][0]) =>
    name === 'version' ? filterImages(images, { ...NO_FILTERS, framework: filters.framework }) : images;
  return (
    <div className="jp-pai-Images-filters">
      {selects.map(([name, label, any]) => (
        <select
          key={name}
          className="jp-pai-Input"
          aria-label={label}
          value={filters[name]}
          onChange={({ target: { value } }) =>
            change(name === 'framework' ? { framework: value, version: '' } : { [name]: value })
          }
        >
          <option value="">{any}</option>
          {choices(candidates(name), image => image[name]).map(choice => (
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
        value={filters.text}
        onChange={event => change({ text: event.target.value })}
      />
    </div>
  );
}

function Rows({ trans, rows, value, onChange }: IProps & { readonly rows: readonly IImage[] }): React.JSX.Element {
  const group = React.useId();
  const all = [{ uri: '', text: trans.__('Profile default'), facts: '' }, ...rows.map(describe)];
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

function describe(image: IImage): { uri: string; text: string; facts: string } {
  const { uri, name, framework, version, accelerator, python, cuda, modes } = image;
  const facts = [
    [framework, version].filter(Boolean).join(' '),
    accelerator,
    python && `Python ${python}`,
    cuda && `CUDA ${cuda}`,
    modes
  ];
  return { uri, text: name || uri, facts: facts.filter(Boolean).join(' · ') };
}
