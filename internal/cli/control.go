package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/run"
)

// A nodeClient talks to the control interface of a running node.
type nodeClient struct {
	control *run.Control
	http    *http.Client
	private bool // run by this process, for this command
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
	return &nodeClient{control: control, http: &http.Client{Timeout: controlTimeout}}, nil
}

// call makes one request. A node that died without removing its control file
// is no running node.
func (c *nodeClient) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.control.URL+"/parley/v1/"+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("authorization", "Bearer "+c.control.Token)
	response, err := c.http.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fault.Errorf(fault.NotFound, "data", "the node that used this data folder is gone")
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
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
	}
	return fmt.Errorf("the node answers %s", response.Status)
}
