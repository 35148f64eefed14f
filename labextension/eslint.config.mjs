import tseslint from 'typescript-eslint';

// Attributes with texts for users. Excludes `description`: those of plugins, commands and schemas are for developers.
const SHOWN =
  '/^(title|label|caption|alt|placeholder|summary|text|yes|no|message|fix|aria-(label|description|roledescription|placeholder|valuetext))$/';
// Texts with words. Names of formats (CSV), URLs and symbols are not translated.
const WORDS = '/^(?!.*:\\/\\/).*(\\p{L}\\p{Ll}|\\p{Lo})/su';
const CODE = 'JSXElement[openingElement.name.name=/^(code|pre|kbd|samp)$/]';
const written = place => [
  `${place} > Literal[value=${WORDS}]`,
  `${place} > ConditionalExpression > Literal[value=${WORDS}]`,
  `${place} > LogicalExpression > Literal.right[value=${WORDS}]`,
  `${place} > TemplateLiteral > TemplateElement[value.raw=${WORDS}]`
];
const argument = (call, which) => `${call} > .arguments:nth-child(${which})`;
const untranslated = [
  `:not(${CODE}) > JSXText[value=${WORDS}]`,
  ...written(`:not(${CODE}) > JSXExpressionContainer.children`),
  ...written(`JSXAttribute[name.name=${SHOWN}]`),
  ...written(`JSXAttribute[name.name=${SHOWN}] > JSXExpressionContainer`),
  ...written(`Property[key.name=${SHOWN}]`),
  ...written(
    'AssignmentExpression[left.property.name=/^(textContent|innerText|title|placeholder|ariaLabel|label|caption)$/]'
  ),
  ...[
    argument('CallExpression[callee.object.name="Notification"][callee.property.name!="emit"]', 1),
    argument('CallExpression[callee.property.name=/^(notify|emit)$/]', 1),
    argument(`CallExpression[callee.property.name="setAttribute"][arguments.0.value=${SHOWN}]`, 2),
    argument('NewExpression[callee.name="EngineError"]', 1),
    argument('NewExpression[callee.name="EngineError"]', 2)
  ].flatMap(place => [
    `${place}[type="Literal"][value=${WORDS}]`,
    `${place}[type="TemplateLiteral"] > TemplateElement[value.raw=${WORDS}]`
  ])
].map(selector => ({ selector, message: 'Pass texts for users through trans.__' }));
// `tests/design/messages.py` extracts only these calls.
const unfound = [
  {
    selector: 'CallExpression[callee.property.name="__"] > .arguments:first-child:not(Literal)',
    message: 'Not in the catalogue.'
  },
  {
    selector: 'MemberExpression[property.name=/^(_p|_np|gettext|ngettext|pgettext)$/]',
    message: 'trans.__ and trans._n are enough.'
  }
];
// The browser and the page may use different locales.
const unlike = [
  {
    selector: 'CallExpression[callee.property.name=/^toLocale\\w*String$/]:not([arguments.0.name="locale"])',
    message: 'Use count and moment of format.ts, which apply the locale of the page.'
  }
];

export default tseslint.config(
  { ignores: ['**/lib/**', 'jupyter_pai/**', 'node_modules/**', '.venv/**', 'build/**'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }]
    }
  },
  {
    files: ['tests/**/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'off', '@typescript-eslint/require-await': 'off' }
  },
  {
    files: ['labextension/src/**'],
    rules: { 'no-restricted-syntax': ['error', ...untranslated, ...unfound, ...unlike] }
  },
  { files: ['*.mjs'], ...tseslint.configs.disableTypeChecked }
);
