package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/run"
)

// A nodeClient talks to the control interface of the node that runs in a data
// folder, also after another start of it.
type nodeClient struct {
	data    string
	http    *http.Client
	private bool // run by this process, for this command

	mu      sync.Mutex
	control *run.Control
}

// controlTimeout is longer than the node makes anyone wait.
const controlTimeout = 2 * time.Minute

// runningNode finds the node that uses the data folder. The error is NotFound
// if none runs.
func runningNode(data string) (*nodeClient, error) {
	control, err := run.ReadControl(data)
	if err != nil {
		return nil, err
	}
	return &nodeClient{data: data, control: control, http: &http.Client{Timeout: controlTimeout}}, nil
}

func (c *nodeClient) at() run.Control {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.control
}

func (c *nodeClient) url() string { return c.at().URL }

// moved looks whether the node was started again since it was there.
func (c *nodeClient) moved(was run.Control) bool {
	control, err := run.ReadControl(c.data)
	if err != nil || *control == was {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.control = control
	return true
}

var (
	errGone = fault.Errorf(fault.NotFound, "data", "the node that used this data folder is gone")

	// errStranger is another node, or another start of this one.
	errStranger = errors.New("the node does not know this command any more")
)

// call makes a request. A node that died without removing its control file is no
// running node; one that was started again is asked again, for the first one has
// certainly not heard.
func (c *nodeClient) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	there := c.at()
	err := c.callAt(ctx, there, method, path, body, out)
	if (errors.Is(err, errGone) || errors.Is(err, errStranger)) && c.moved(there) {
		err = c.callAt(ctx, c.at(), method, path, body, out)
	}
	return err
}

func (c *nodeClient) callAt(ctx context.Context, there run.Control, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, there.URL+"/parley/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("authorization", "Bearer "+there.Token)
	response, err := c.http.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return errGone
	}
	if err != nil {
		return brokenOff(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return brokenOff(err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		return json.Unmarshal(text, out)
	case http.StatusBadRequest:
		var refused fault.Error
		if err := json.Unmarshal(text, &refused); err != nil {
			return err
		}
		return &refused
	case http.StatusForbidden:
		return errStranger
	}
	return fmt.Errorf("the node answers %s", response.Status)
}

// brokenOff says it without the address of the control interface, which nobody
// has asked for.
func brokenOff(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok && !errors.Is(err, context.Canceled) {
		err = inner.Err
	}
	return fmt.Errorf("the node has broken off: %w", err)
}
