// What the editor does otherwise with inputs and their answers.

/** The text of a request has a name, and the panel around it is no stop of the keyboard beside it. */
const requestBody =
  (TextArea, { React }) =>
  (props) => {
    const panelIsNoStop = (area) => area?.closest('[role=tabpanel]')?.removeAttribute('tabindex');
    const isEmpty = (props.value ?? '').trim() === '';
    return React.createElement(
      React.Fragment,
      null,
      React.createElement('textarea', { 'aria-label': 'Request body', ref: panelIsNoStop, ...props }),
      React.createElement(
        'p',
        { className: 'empty-body', role: 'alert' },
        isEmpty ? 'The request body is empty: type the input of the call.' : '',
      ),
    );
  };

/** A button that is disabled while its call runs would lose the focus. Where it cannot run, the focus goes to what is missing. */
const focusable = (Execute, { React }) =>
  class extends Execute {
    render() {
      const { disabled, path, method, oas3Selectors } = this.props;
      const press = (event) => {
        const operation = event.currentTarget.closest('.opblock');
        this.onClick();
        if (oas3Selectors.validateBeforeExecute([path, method]) === false) operation.querySelector('textarea')?.focus();
      };
      const onClick = disabled ? undefined : press;
      return React.cloneElement(super.render(), { disabled: false, 'aria-disabled': disabled, onClick });
    }
  };

/** Clear goes when it is pressed, and leaves the focus to Execute beside it. */
const handingOver = (Clear, { React }) =>
  class extends Clear {
    render() {
      const onClick = (event) => {
        event.currentTarget.previousElementSibling.focus();
        this.onClick();
      };
      return React.cloneElement(super.render(), { onClick });
    }
  };

/** What came back stands before what was sent. */
const answerFirst = (LiveResponse, { React }) =>
  class extends LiveResponse {
    render() {
      const drawn = super.render();
      const [curl, url, ...answer] = React.Children.toArray(drawn.props.children);
      return React.cloneElement(drawn, {}, ...answer, curl, url);
    }
  };

/** The result of a wrapped answer as JSON; undefined for any other answer. */
const resultOf = (content, type) => {
  if (typeof content !== 'string' || !/json/i.test(type ?? '')) return undefined;
  try {
    const { result, info } = JSON.parse(content);
    return info?.ko === undefined || result === undefined ? undefined : JSON.stringify(result, null, 2);
  } catch {
    return undefined;
  }
};

/** The result alone, before the answer with the metadata of the knowledge object, which is much longer. */
const resultFirst =
  (ResponseBody, { React, getComponent }) =>
  (props) => {
    const whole = React.createElement(ResponseBody, props);
    const result = resultOf(props.content, props.contentType);
    if (result === undefined) return whole;
    const HighlightCode = getComponent('HighlightCode', true);
    return React.createElement(
      'div',
      { className: 'result' },
      React.createElement('h5', null, 'Result'),
      React.createElement(HighlightCode, { language: 'json', canCopy: true }, result),
      React.createElement(
        'details',
        { className: 'whole-answer' },
        React.createElement('summary', null, 'Whole answer, with the metadata of the knowledge object'),
        whole,
      ),
    );
  };

/** An answer goes when the input it belongs to is changed, also one that is still on its way then. */
function forgettingAnswers() {
  /** Calls that run, by path and method, and whether their input was changed meanwhile. */
  const running = new Map();
  let calls = 0;
  const forget = ({ specActions }, [path, method]) => {
    const key = method + ' ' + path;
    if (running.has(key)) return void running.set(key, true);
    specActions.clearResponse(path, method);
    specActions.clearRequest(path, method);
  };
  return {
    oas3: {
      wrapActions: {
        setRequestBodyValue: (update, system) => (change) => {
          const { value, pathMethod } = change;
          const before = system.oas3Selectors.requestBodyValue(...pathMethod);
          const isSame = before === value || (before ?? '') === (value ?? '');
          const updated = update(change);
          if (!isSame) forget(system, pathMethod);
          return updated;
        },
      },
    },
    spec: {
      wrapActions: {
        changeParamByIdentity:
          (update, system) =>
          (pathMethod, ...change) => {
            const updated = update(pathMethod, ...change);
            forget(system, pathMethod);
            return updated;
          },
        setRequest: (update) => (path, method, request) => {
          running.set(method + ' ' + path, false);
          calls++;
          return update(path, method, request);
        },
        setResponse: (update, system) => (path, method, response) => {
          const key = method + ' ' + path;
          const isChanged = running.get(key);
          running.delete(key);
          const updated = update(path, method, response);
          // The button learns from the answer that its call has ended, so it is drawn once.
          const call = calls;
          const ended = () => call === calls && forget(system, [path, method]);
          if (isChanged) requestAnimationFrame(() => setTimeout(ended));
          return updated;
        },
      },
    },
  };
}

/** The plugin of the editor with all of it. `onDescriptor` wraps what updates the descriptor. */
export const answersPlugin = (onDescriptor) => () => {
  const { spec, ...others } = forgettingAnswers();
  return {
    statePlugins: { ...others, spec: { wrapActions: { ...spec.wrapActions, updateJsonSpec: onDescriptor } } },
    wrapComponents: {
      TextArea: requestBody,
      execute: focusable,
      clear: handingOver,
      liveResponse: answerFirst,
      responseBody: resultFirst,
      CopyToClipboardBtn: () => () => null,
    },
  };
};
